/** Actions of the user, their outcomes, and the equivalent commands. */
import { ApiError, follow, isJob, post, type Job } from './api';

export interface Notice {
  id: number;
  state: 'running' | 'done' | 'failed';
  text: string;
  remedy: string | null;
  command: string | null;
}

export const notices = $state<Notice[]>([]);

let last = 0;
const STAYS = 9000;

export function notify(notice: Partial<Notice> & { text: string }): number {
  const id = ++last;
  notices.push({ state: 'done', remedy: null, command: null, ...notice, id });
  if (notices.length > 4) notices.shift();
  if (notice.state !== 'failed' && notice.state !== 'running') setTimeout(() => dismiss(id), STAYS);
  return id;
}

export function dismiss(id: number) {
  const index = notices.findIndex((notice) => notice.id === id);
  if (index >= 0) notices.splice(index, 1);
}

/**
 * Sends a change and shows its outcome. Returns the answer, or null if it failed (then the reason is shown).
 * `text` describes the change, for answers without an outcome. If `isQuiet`, the caller shows the outcome.
 */
export async function act<T extends object>(path: string, body: unknown, text: string, isQuiet = false): Promise<T | null> {
  try {
    const answer = await post<T>(path, body);
    const facts = (answer ?? {}) as { outcome?: string; command?: string; failed?: boolean };
    if (!isJob(answer) && (!isQuiet || facts.failed)) notify({ text: facts.outcome || text, command: facts.command ?? null, state: facts.failed ? 'failed' : 'done' });
    return facts.failed ? null : answer;
  } catch (error) {
    fail(error);
    return null;
  }
}

/** Sends a change that is a job, and waits for its end while `onProgress` shows it. Null if it failed. */
export async function run(path: string, body: unknown, onProgress: (job: Job) => void): Promise<Job | null> {
  try {
    const answer = await post<unknown>(path, body);
    if (!isJob(answer)) {
      const facts = (answer ?? {}) as { outcome?: string; command?: string };
      notify({ text: facts.outcome ?? 'done', command: facts.command ?? null });
      return { id: 0, what: '', workspace: null, command: facts.command ?? '', state: 'done', exit: 0, progress: [], result: answer, error: null };
    }
    const job = await follow(answer, onProgress);
    return job.state === 'done' ? job : null;
  } catch (error) {
    fail(error);
    return null;
  }
}

export function fail(error: unknown) {
  if ((error as Error).name === 'AbortError') return;
  const problem = error as ApiError;
  notify({ state: 'failed', text: problem.message, remedy: problem.remedy ?? null, command: problem.command ?? null });
}
