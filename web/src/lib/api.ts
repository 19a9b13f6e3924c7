/** The server's API: its types, and one function for reads and one for changes. */

export interface Problem { error: string; remedy?: string | null }

export interface WorkspaceRow {
  name: string; path: string; is_running: boolean; pages: number; queued: number; harvest: number | null;
  good: string[]; is_trained: boolean; last_stop: string | null; started_here: boolean; last_fetch_at: number | null; problem: string | null;
}

export interface Alarm { id: number; at: number; kind: string; detail: string; is_active: boolean }
export interface Live {
  workers_idle: number | null; sites_awaited: number | null; ready: number | null; resting: number | null; busy: number | null;
  given_up: number | null; held_up: string | null; budget_pages: number | null;
}
export interface Status {
  is_running: boolean; is_paused: boolean; strategy: string | null; policy: string | null;
  critic: { trained_at: number } | null;
  good: { id: number; path: string }[]; toward: { id: number; path: string }[];
  counts: { known: number; queued: number; fetched: number; redirected: number; dead: number; skipped: number; rejected: number; links: number; sites: number; copies: number };
  harvest: number | null; harvest_recent: number | null; on_topic: number | null; last_stop: string | null; now: number;
  first_fetch_at: number | null; last_fetch_at: number | null; disk: { database: number; pages: number; free: number | null };
  live: Live | null; alarms: Alarm[]; started_at: number | null;
}

export interface DotColumns { seq: number[]; at: number[]; relevance: (number | null)[]; topic: (number | null)[]; outcome: number[]; last: number; more: boolean }
export interface DotFacts { url: string; title: string | null; relevance: number | null; topic: string | null; host: string; at: number }
export interface Series { at: number[]; pages: number[]; relevant: number[]; mean_relevance: (number | null)[]; failures: number[]; frontier?: (number | null)[] | null }
export interface SiteRow { host: string; state: string; queued: number; fetched: number; mean_relevance: number | null; failures: number; not_before: number | null; reason: string | null }
export interface FailureRow { kind: string; count: number; dead: number; detail: string; example_url: string; remedy: string | null }
export interface CommandRow { id: number; at: number; what: string; parameters: unknown; answered: number | null; failed: boolean; outcome: string | null }
export interface CommandAnswer { id: number; failed: boolean; outcome: string; command: string }
export interface ScopePreview { queued_removed: number; fetched_matching: number; examples: string[] }
export interface Outcome { outcome: string; command: string }

export interface TopicNode {
  id: number;
  /** Id of its parent; the root's is itself. */
  parent: number;
  name: string; path: string;
  /** `good`; `path`: above a good topic; `subsumed`: below one; or `null`. */
  mark: string;
  /** Of the topic itself; with the topics below it in the second three. */
  examples: number; pages: number; mean_relevance: number | null;
  examples_below: number; pages_below: number; mean_relevance_below: number | null;
}
export interface TopicTree { nodes: TopicNode[] }
export interface ExampleRow {
  id: number; url: string; title: string; topic: string;
  /** `ok`, `missing` or `empty`. */
  state: string; detail: string; language: string;
  judged_as: string | null; is_recognised: boolean | null; relevance: number | null;
}
export interface Proposal { path: string; probability: number; examples: number; words: string[]; is_good: boolean }
export interface Suggestions {
  broaden: { path: string; good: string[]; is_above: boolean; pages: number; relevance: number; good_pages: number; command: string }[];
  specialty_sites: { host: string; pages: number; relevant: number; share: number }[];
}
export interface Misjudged { name: string; topic: string; is_good: boolean; judged_as: string; relevance: number }
export interface Change { url: string; title: string; before: number; after: number }
export interface Training {
  examples: number;
  nodes: { node: string; examples: number; validation: { accuracy: number } | null }[];
  /** The critic's judgment of the user's own examples. */
  check: { checked: number; misjudged: Misjudged[] };
  changes?: { pages: number; good_before: number; good_after: number; came: number; went: number; up: Change[]; down: Change[] } | null;
}

export interface PageRow { url: string; title: string | null; host: string; relevance: number | null; topic: string | null; at: number | null; language: string | null; hub: number | null; authority: number | null; feedback: boolean | null }
export interface WordWeight { word: string; weight: number }
export interface VerdictStep { path: string; probability: number; given_parent: number; for: WordWeight[]; against: WordWeight[] }
/** A judgment, step by step from the root to the best topic. */
export interface Judgment { relevance: number | null; topic: string; probability: number; steps: VerdictStep[] }
export interface PathPage { url: string; title: string; relevance: number; state: string; anchor: string }
/** Everything known about a URL. Of an unknown one only its URL and state. */
export interface Story { url: string; state: string }
export interface PageFacts extends Story {
  title: string; language: string; relevance: number; topic: string | null; host: string; site_fetched: number; site_disabled: boolean;
  seq: number | null; at: number | null; tries: number; status: number | null; bytes: number | null; failure: { kind: string; detail: string } | null;
  not_before: number | null; leads_to: string | null; hub: number | null; authority: number | null; with_neighbours: number | null;
  examples: string[]; feedback: { kind: string; useful: boolean; at: number }[];
  discovered: PathPage[]; parents: { url: string; relevance: number; seq: number | null; discovered: number }[]; links_in: number; links_out: number; links: PathPage[];
  judgment: Judgment | null; text: string | null;
  priority: { value: number; rank: number | null; strategy: string | null; on: string | null; parts: { what: string; adds: number }[] };
  history: { at: number; what: string }[]; archived: boolean; command: string;
}
export interface HubGraph { nodes: { id: number | string; url: string; title: string | null; host: string; kind: 'hub' | 'authority' | 'both'; score: number; relevance: number | null }[]; links: [number, number][] }
export interface Cluster { words: string[]; pages: number; examples: { url: string; title: string | null; relevance?: number | null }[] }
export interface Hit { url: string; title: string | null; snippet: { text: string; marked: boolean }[]; relevance: number | null; topic: string | null; score: number }
export interface SearchAnswer { hits: Hit[]; has_some_words_only: boolean; indexed: number; behind: number }
export interface Question { url: string; title: string; snippet: string; relevance: number; topic: string; about: string; for: string[]; against: string[] }

export interface NamedQuery { name: string; title: string; parameters: { name: string; title: string; default: string | null; kind: string }[]; sql: string }
export interface QueryAnswer { columns: string[]; rows: (string | number | boolean | null)[][]; truncated: boolean; ms: number; command: string }
export interface KeptQuery { name: string; query: string; parameters: Record<string, string>; topics: string[]; at: number }
export interface SchemaTable { table: string; about: string; columns: { name: string; about: string }[] }
export interface ExportFile { name: string; bytes: number; at: number; is_partial: boolean }
export interface LabRun { name: string; experiment: unknown; strategies: string[]; topics: string[]; crawls: number; at: number }
export interface LabResults { run: LabRun; results: Record<string, unknown>[]; figures: { name: string; svg: string }[] }

export interface Job { id: number | string; what: string; workspace: string | null; command: string; state: 'running' | 'done' | 'failed' | 'cancelled'; exit: number | null; progress: string[]; result: unknown; error: string | null }

export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly remedy: string | null = null, readonly command: string | null = null) {
    super(message);
  }
}

/** Set when the server refuses the token: the whole page then says what to do. */
export const access = { onRefused: () => {} };

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answer<T>(await send(path, { signal }));
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return answer<T>(await send(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', 'X-Porthole': '1' } }));
}

/** Path of an endpoint of a workspace; parameters without a value are left out. */
export function of(workspace: string, endpoint: string, parameters: Record<string, string | number | null | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return `/w/${encodeURIComponent(workspace)}/${endpoint}${text ? `?${text}` : ''}`;
}

export function isJob(value: unknown): value is Job {
  return typeof value === 'object' && value !== null && 'state' in value && 'progress' in value;
}

/** Follows a job until it ends. */
export async function follow(job: Job, onProgress: (job: Job) => void, signal?: AbortSignal): Promise<Job> {
  onProgress(job);
  while (job.state === 'running' && !signal?.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    job = await get<Job>(`/jobs/${job.id}`, signal);
    onProgress(job);
  }
  return job;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`/api/v1${path}`, init);
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new ApiError(0, 'the server does not answer', 'is `porthole serve` still running?');
  }
}

async function answer<T>(response: Response): Promise<T> {
  const text = await response.text();
  let body: unknown = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    if (response.ok) throw new ApiError(response.status, 'the answer is not JSON', 'reload the page; it may be older than the server');
  }
  if (response.ok) return body as T;
  if (response.status === 401) access.onRefused();
  const problem = (body ?? {}) as Partial<Problem> & { command?: string };
  throw new ApiError(response.status, problem.error ?? `the server answered ${response.status}`, problem.remedy ?? null, problem.command ?? null);
}
