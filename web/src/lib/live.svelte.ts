/** The current state of a workspace: its status, dots, events and commands, updated by the server's event stream. */
import { fail } from './actions.svelte';
import { get, of, type CommandRow, type DotColumns, type Status } from './api';
import { Dots } from './dots';

export interface StreamEvent { id: number; at: number; kind: string; detail: unknown }
export type Connection = 'connecting' | 'open' | 'lost';

const CHUNK = 50_000;
const KEPT_EVENTS = 200;
/** Milliseconds after which a hidden tab closes its stream. */
const HIDDEN_STREAM = 5000;
const KEPT_COMMANDS = 20;

export class LiveWorkspace {
  status = $state.raw<Status | null>(null);
  problem = $state.raw<Error | null>(null);
  connection = $state<Connection>('connecting');
  events = $state.raw<StreamEvent[]>([]);
  commands = $state.raw<CommandRow[]>([]);
  /** Incremented when dots are added, because the columns themselves are not reactive, for speed. */
  dotVersion = $state(0);
  isLoadingDots = $state(true);
  readonly dots = new Dots();
  /** Called at once when dots arrive, without waiting for a rendering. */
  onDots: (() => void) | null = null;

  private source: EventSource | null = null;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;
  private areDotsWatched = false;
  /** Dots arrived while others were being loaded. */
  private isBehind = false;
  private loading: Promise<void> | null = null;

  constructor(readonly name: string) {
    void this.refresh();
    this.listen();
    document.addEventListener('visibilitychange', this.onVisibility);
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.rest);
    document.removeEventListener('visibilitychange', this.onVisibility);
    this.source?.close();
  }

  async refresh() {
    try {
      const [status, commands] = await Promise.all([
        get<Status>(of(this.name, 'status')),
        get<CommandRow[]>(of(this.name, 'commands', { limit: KEPT_COMMANDS })),
      ]);
      this.status = status;
      this.commands = commands;
      this.problem = null;
    } catch (error) {
      if (!this.isClosed) this.problem = error as Error;
    }
  }

  /** Loads the dots so far, and follows them from now on. */
  watchDots() {
    this.areDotsWatched = true;
    void this.loadDots();
  }

  /** A browser has six connections to a server for all its tabs, so a hidden tab closes its stream. */
  private onVisibility = () => {
    clearTimeout(this.rest);
    if (document.hidden) {
      this.rest = setTimeout(() => {
        this.source?.close();
        this.source = null;
      }, HIDDEN_STREAM);
    } else if (!this.source) {
      this.listen();
      void this.refresh().then(() => this.loadDots());
    }
  };

  private listen() {
    const source = new EventSource(`/api/v1${of(this.name, 'events')}`);
    this.source = source;
    const on = <T>(name: string, take: (data: T) => void) =>
      source.addEventListener(name, (event) => take(JSON.parse((event as MessageEvent<string>).data) as T));
    source.onopen = () => {
      if (this.connection === 'lost') void this.refresh().then(() => this.loadDots());
      this.connection = 'open';
    };
    source.onerror = () => (this.connection = 'lost');
    on<DotColumns>('dots', (columns) => this.takeLive(columns));
    on('lag', () => void this.loadDots());
    on('reset', () => this.reset());
    on<Status>('status', (status) => (this.status = status));
    on<StreamEvent>('event', (event) => (this.events = [event, ...this.events].slice(0, KEPT_EVENTS)));
    on<CommandRow>('command', (row) => (this.commands = [row, ...this.commands.filter((other) => other.id !== row.id)].slice(0, KEPT_COMMANDS)));
    on('end', () => (this.connection = 'lost'));
  }

  /** Pages were judged again, so their dots have moved. */
  private reset() {
    this.dots.clear();
    this.onDots?.();
    this.dotVersion += 1;
    if (this.loading) this.isBehind = true;
    else void this.loadDots();
  }

  private takeLive(columns: DotColumns) {
    if (!this.areDotsWatched) return;
    if (this.loading) this.isBehind = true;
    else this.take(columns);
  }

  private take(columns: DotColumns) {
    this.dots.append(columns);
    this.onDots?.();
    this.dotVersion += 1;
  }

  /** Loads the dots after the last one, chunk by chunk. */
  private loadDots(): Promise<void> {
    if (!this.areDotsWatched) return Promise.resolve();
    this.loading ??= this.loadChunks().then(
      () => this.onLoaded(),
      (error) => {
        this.loading = null;
        this.isLoadingDots = false;
        if (!this.isClosed) fail(error);
      },
    );
    return this.loading;
  }

  private onLoaded() {
    this.loading = null;
    this.isLoadingDots = false;
    if (!this.isBehind) return;
    this.isBehind = false;
    void this.loadDots();
  }

  private async loadChunks() {
    while (!this.isClosed) {
      // The first fetch has number 0.
      const after = this.dots.length ? this.dots.lastSeq : null;
      const columns = await get<DotColumns>(of(this.name, 'dots', { after, limit: CHUNK }));
      if (columns.seq.length) this.take(columns);
      if (!columns.more || !columns.seq.length) return;
    }
  }
}
