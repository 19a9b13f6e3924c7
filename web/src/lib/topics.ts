/** Marks of topics. Of a topic and one below it, only one can be good. */
import { act } from './actions.svelte';
import { of, post, type Outcome } from './api';

/** Good topics above or below a topic: they have to be unmarked before it can be marked. */
export function rivals(path: string, good: string[]): string[] {
  const isBelow = (one: string, other: string) => other === '/' || one.startsWith(`${other}/`);
  return good.filter((other) => other !== path && (isBelow(path, other) || isBelow(other, path)));
}

/** Marks a topic good, instead of those above or below it. */
export async function markGood(workspace: string, path: string, good: string[]): Promise<boolean> {
  for (const other of rivals(path, good)) {
    // If this fails, the error of the marking is shown.
    await post(of(workspace, 'topics'), { op: 'unmark', path: other }).catch(() => {});
  }
  return (await act<Outcome>(of(workspace, 'topics'), { op: 'mark', path }, `${path} is good`)) !== null;
}
