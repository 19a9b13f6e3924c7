import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { followLinks } from './lib/router.svelte';

followLinks();
mount(App, { target: document.getElementById('app')! });
