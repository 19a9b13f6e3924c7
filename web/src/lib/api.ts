/** The server's API: its types, and one function for reads and one for changes. */

import type { components } from './schema';
import type { Cell } from './table';

type Schemas = components['schemas'];

export type Alarm = Schemas['AlarmRow'];
export type Cluster = Schemas['PageCluster'];
export type CommandAnswer = Schemas['CommandAnswered'];
export type CommandRow = Schemas['CommandReport'];
export type DotColumns = Schemas['Dots'];
export type DotFacts = Schemas['Dot'];
export type ExampleRow = Schemas['ExampleRow'];
export type ExportFile = Schemas['ExportFile'];
export type FailureRow = Schemas['FailureRow'];
export type HubGraph = Schemas['HubGraph'];
/** The result depends on what the job does. */
export type Job = Omit<Schemas['JobReport'], 'result' | 'began'> & { result?: unknown };
export type Judgment = Schemas['PageVerdict'];
export type KeptQuery = Schemas['KeptRow'];
export type LabResults = Schemas['LabResults'];
export type LabRun = Schemas['LabRun'];
export type NamedQuery = Schemas['QueryForm'];
export type Outcome = Schemas['OperationOutcome'];
export type PageRow = Schemas['PageRow'];
export type Proposal = Schemas['ProposedTopic'];
export type QueryAnswer = Omit<Schemas['QueryResult'], 'rows'> & { rows: Cell[][] };
export type Question = Schemas['TeachRow'];
export type SchemaTable = Schemas['TableFacts'];
export type ScopePreview = Schemas['ScopeEffect'];
export type SearchAnswer = Schemas['SearchHits'];
export type Series = Schemas['CrawlSeries'];
export type SiteRow = Schemas['SiteRow'];
export type Status = Schemas['WorkspaceStatus'];
export type Story = Schemas['PageStory'];
/** Everything known about a URL; of an unknown one, a story has only its URL and state. */
export type PageFacts = Extract<Story, { title: string }>;
export type Suggestions = Schemas['Suggestions'];
export type TopicNode = Schemas['TopicNode'];
export type TopicTree = Schemas['TopicTree'];
export type VerdictStep = Schemas['VerdictStep'];
export type WordWeight = Schemas['WeighedWord'];
export type WorkspaceRow = Schemas['WorkspaceSummary'];

/** What `porthole train --json` prints, as the result of a job. */
export interface Training {
  examples: number;
  nodes: { node: string; examples: number; validation: { accuracy: number } | null }[];
  /** The critic's judgment of the user's own examples. */
  check: { checked: number; misjudged: { name: string; topic: string; is_good: boolean; judged_as: string; relevance: number }[] };
  /** Of a preview: what would change in the collection. */
  changes?: { pages: number; good_before: number; good_after: number; came: number; went: number; up: Change[]; down: Change[] } | null;
}
export interface Change { url: string; title: string; before: number; after: number }

export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly remedy: string | null = null, readonly command: string | null = null) {
    super(message);
  }
}

/** Set when the server refuses the token; the whole page is then replaced by instructions. */
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
  const problem = (body ?? {}) as Partial<Schemas['ErrorBody']> & { command?: string };
  throw new ApiError(response.status, problem.error ?? `the server answered ${response.status}`, problem.remedy ?? null, problem.command ?? null);
}
