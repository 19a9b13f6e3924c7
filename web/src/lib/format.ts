/** Numbers, times and addresses as people read them. */

const WHOLE = new Intl.NumberFormat('en');

export function count(value: number | null | undefined): string {
  return value == null || !Number.isFinite(value) ? '–' : WHOLE.format(Math.round(value));
}

/** `1,234`, `12.3k`, `4.6M`: for axes and narrow places. */
export function short(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  if (size >= 100 || Number.isInteger(value)) return WHOLE.format(Math.round(value));
  return trim(value);
}

/** A relevance or a probability, as a percentage. `99.6%` is not rounded to `100%`. */
export function percent(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return '–';
  const hundred = value * 100;
  if (hundred > 99 && hundred < 100) return `${Math.min(99.9, hundred).toFixed(1)}%`;
  if (hundred > 0 && hundred < 1) return hundred < 0.1 ? '<0.1%' : `${hundred.toFixed(1)}%`;
  return `${Math.round(hundred)}%`;
}

export function bytes(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** `3 s`, `4 min`, `2 h 5 min`, `3 days`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} days`;
}

export function ago(time: number | null | undefined, now: number): string {
  if (!time) return 'never';
  const past = now - time;
  return past < 2000 ? 'just now' : `${duration(past)} ago`;
}

export function clock(time: number | null | undefined): string {
  return time ? new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' }) : '–';
}

export function moment(time: number | null | undefined): string {
  if (!time) return '–';
  return new Date(time).toLocaleString('en-GB', {
    year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit',
  });
}

/** Only http and https addresses may become links: a crawled `javascript:` URL is text. */
export function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

export function host(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return '';
  }
}

/** An address without its scheme, with percent-encoded UTF-8 decoded. */
export function address(url: string): string {
  let text = url.replace(/^https?:\/\//i, '');
  try {
    text = decodeURI(text);
  } catch {
    // Not UTF-8: shown unchanged.
  }
  return text.replace(/\/$/, '');
}

/** `/Science/Biology/Sea_birds` is `Sea birds`. */
export function leaf(path: string | null | undefined): string {
  if (!path) return '–';
  return path === '/' ? 'everything' : readable(path.split('/').pop() ?? path);
}

/** The name of a topic for people: underscores stand for spaces. */
export function readable(name: string): string {
  return name.replaceAll('_', ' ');
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

function trim(value: number): string {
  return value.toFixed(Math.abs(value) >= 100 ? 0 : 1).replace(/\.0$/, '');
}
