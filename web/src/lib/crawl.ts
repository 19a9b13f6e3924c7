/** Commands to a running crawl, and sentences about its state. */
import { act } from './actions.svelte';
import { of, type CommandAnswer, type Status } from './api';
import { count, leaf, plural } from './format';

export const STRATEGIES = ['porthole', 'soft', 'hard', 'best-256', 'apprentice', 'shark', 'fish', 'breadth', 'opic'];
export const POLICIES = [
  ['numtries asc, priority desc', 'best links first'],
  ['numtries asc, relevance desc', 'links of the most relevant pages first'],
  ['numtries asc, serverload asc, priority desc', 'spread over sites first, then the best links'],
  ['lastvisited asc', 'oldest first'],
];

export function command(workspace: string, what: string, parameters: Record<string, unknown> = {}): Promise<CommandAnswer | null> {
  return act<CommandAnswer>(of(workspace, 'commands'), { what, parameters }, what);
}

/** Why the last crawl ended, by the word that is stored in the workspace. */
const ENDS: Record<string, string> = {
  limit: 'it reached its page limit', time: 'its time was up', size: 'it reached its size limit', disk: 'the workspace reached its size limit', 'disk full': 'the disk was full',
  interrupted: 'it was stopped', stagnated: 'no good page had come for long', exhausted: 'no URL was left', waiting: 'all URLs that were left waited for another try',
  aborted: 'it was killed or has failed',
};

/** One sentence about whether the crawl is working, and if not, why. */
export function explain(status: Status): string {
  if (!status.is_running) {
    if (!status.counts.fetched) return 'No page was fetched yet. Start the crawl to see its pages here.';
    return status.last_stop ? `The last crawl ended: ${ENDS[status.last_stop] ?? status.last_stop}. Start it again to resume where it stopped.` : 'No crawl is running. Start it again to resume where it stopped.';
  }
  if (status.is_paused) return 'The crawl is paused: no new request is made until you resume it.';
  const live = status.live;
  if (live?.held_up) return sentence(live.held_up);
  if (live && !live.ready && !live.busy && live.resting) return `Every site with queued URLs rests (${plural(live.resting, 'site')}). This is politeness, not a stall: the next request comes when a delay ends.`;
  if (live && !live.ready && !live.busy && !status.counts.queued) return 'The queue is empty: the crawl has followed every link that its strategy follows.';
  if (live && !live.busy && live.workers_idle) return `Waiting by choice for ${plural(live.sites_awaited ?? 0, 'site')} with the best links, which must rest first. Links of the ${plural(live.ready ?? 0, 'ready site')} are worth much less.`;
  return live ? `Working: ${plural(live.busy ?? 0, 'site')} answering, ${count(live.ready ?? 0)} ready, ${count(live.resting ?? 0)} resting.` : 'Working.';
}

export function goal(status: Status): string {
  return status.good.map((topic) => leaf(topic.path)).join(', ') || 'nothing yet';
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.!?]$/.test(trimmed) ? '' : '.');
}
