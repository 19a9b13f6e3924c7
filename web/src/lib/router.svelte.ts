/** The address holds the state of a page, so that pages can be shared and reloaded, and the back button works. */

export interface Route {
  page: string;
  /** Name of the workspace, for the pages below `/w/`. */
  workspace: string | null;
  /** The path after the page's name, such as `hubs` in `/w/owls/results/hubs`. */
  rest: string;
}

export function parse(path: string): Route {
  const parts = path.split('/').filter(Boolean).map(decode);
  if (parts[0] === 'w' && parts[1]) {
    return { workspace: parts[1], page: parts[2] ?? 'crawl', rest: parts.slice(3).join('/') };
  }
  return { workspace: null, page: parts[0] ?? 'start', rest: parts.slice(1).join('/') };
}

export const router = $state({
  path: location.pathname,
  query: new URLSearchParams(location.search),
  /** Incremented at every navigation, so that the focus can be moved. */
  visits: 0,
});

export function go(address: string, options: { replace?: boolean } = {}) {
  if (options.replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  update(!options.replace);
}

/** Changes parameters of the current address. Empty values are left out. */
export function setQuery(changes: Record<string, string | null | undefined>, replace = true) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ''), { replace });
}

/** Address of a page of a workspace. */
export function at(workspace: string, page: string, query: Record<string, string> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `/w/${encodeURIComponent(workspace)}/${page}${text ? `?${text}` : ''}`;
}

/** Clicks on links within the dashboard change the page without loading it again. */
export function followLinks() {
  addEventListener('popstate', () => update(true));
  addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname.startsWith('/api/') || link.pathname.endsWith('.txt')) return;
    event.preventDefault();
    if (link.href !== location.href) go(link.pathname + link.search + link.hash);
    if (!link.hash) scrollTo(0, 0);
  });
}

function update(isVisit: boolean) {
  router.path = location.pathname;
  router.query = new URLSearchParams(location.search);
  if (isVisit) router.visits += 1;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
