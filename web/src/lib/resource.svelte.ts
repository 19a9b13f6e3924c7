/** Data of the server, reloaded when its dependencies change. The old value stays until the new one is loaded. */
import type { ApiError } from './api';

export class Resource<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  isLoading = $state(true);
  private turn = $state(0);

  /**
   * Must be created while a component is initialised: state that `load` reads before its first `await` is tracked. With
   * `every`, it is reloaded after this many milliseconds, unless it is still loading or the tab is hidden.
   */
  constructor(load: (signal: AbortSignal) => Promise<T>, every = 0) {
    $effect(() => {
      void this.turn;
      const control = new AbortController();
      this.isLoading = true;
      load(control.signal).then(
        (value) => this.settle(control, value, null),
        (error: ApiError) => this.settle(control, this.value, error),
      );
      return () => control.abort();
    });
    if (every) $effect(() => {
      const timer = setInterval(() => {
        if (!this.isLoading && !document.hidden) this.turn += 1;
      }, every);
      return () => clearInterval(timer);
    });
  }

  reload() {
    this.turn += 1;
  }

  private settle(control: AbortController, value: T | null, error: ApiError | null) {
    if (control.signal.aborted) return;
    this.value = value;
    this.error = error;
    this.isLoading = false;
  }
}
