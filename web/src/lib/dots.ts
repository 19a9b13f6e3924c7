/**
 * The fetched pages in fetch order, in columns: the data of the scatter plot. Cumulative sums give the moving average at any
 * place by two subtractions.
 */
import type { DotColumns } from './api';

export const PAGE = 1;
export const REDIRECT = 2;
export const DEAD = 3;
export const SKIPPED = 4;
export const COPY = 7;
/** Failed, and tried again later. */
export const RETRY = 8;

const FIRST_CAPACITY = 1 << 14;

export class Dots {
  seq = new Float64Array(FIRST_CAPACITY);
  at = new Float64Array(FIRST_CAPACITY);
  /** NaN where there is no judgment. */
  relevance = new Float32Array(FIRST_CAPACITY);
  /** -1 where there is no topic. */
  topic = new Int32Array(FIRST_CAPACITY);
  outcome = new Uint8Array(FIRST_CAPACITY);
  /** Sum of the relevance of the dots before this one, and their number. */
  private sums = new Float64Array(FIRST_CAPACITY + 1);
  private judged = new Uint32Array(FIRST_CAPACITY + 1);
  length = 0;

  /** `most` is the number of dots that are kept: when there are more, the older half is dropped. */
  constructor(readonly most = 1_000_000) {}

  get lastSeq(): number {
    return this.length ? this.seq[this.length - 1] : 0;
  }

  clear() {
    this.length = 0;
  }

  /** Appends later dots. Returns false if earlier ones were dropped for them, so that all have to be drawn again. */
  append(columns: DotColumns): boolean {
    let isAppend = true;
    for (let i = 0; i < columns.seq.length; i++) {
      if (columns.seq[i] <= this.lastSeq && this.length) continue;
      if (this.length === this.most) {
        this.dropOlderHalf();
        isAppend = false;
      }
      if (this.length === this.seq.length) this.grow();
      const n = this.length;
      const relevance = columns.relevance[i];
      // A duplicate counts as a page with relevance 0, as in the harvest.
      const isPage = relevance !== null && columns.outcome[i] === PAGE;
      const counts = isPage || columns.outcome[i] === COPY;
      this.seq[n] = columns.seq[i];
      this.at[n] = columns.at[i];
      this.relevance[n] = relevance ?? NaN;
      this.topic[n] = columns.topic[i] ?? -1;
      this.outcome[n] = columns.outcome[i];
      this.sums[n + 1] = this.sums[n] + (isPage ? relevance : 0);
      this.judged[n + 1] = this.judged[n] + (counts ? 1 : 0);
      this.length = n + 1;
    }
    return isAppend;
  }

  /** Harvest of the last `window` pages up to this fetch; NaN if there is none. */
  average(index: number, window: number): number {
    const end = Math.min(this.length, index + 1);
    const from = this.firstJudged(this.judged[end] - window, end);
    const pages = this.judged[end] - this.judged[from];
    return pages ? (this.sums[end] - this.sums[from]) / pages : NaN;
  }

  /** Whether enough pages were judged up to this one for their average to mean something. */
  isSettled(index: number): boolean {
    return this.judged[Math.min(this.length, index + 1)] - this.judged[0] >= 10;
  }

  /** Pages per second in the last `milliseconds`. */
  rate(milliseconds: number, now: number): number {
    const from = this.firstAt('at', now - milliseconds);
    let pages = 0;
    for (let i = from; i < this.length; i++) if (this.outcome[i] === PAGE) pages += 1;
    return pages / (milliseconds / 1000);
  }

  /** First index whose sequence number or time is not below `value`. */
  firstAt(column: 'seq' | 'at', value: number): number {
    const values = this[column];
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** First index before which this many pages were judged. */
  private firstJudged(count: number, end: number): number {
    let low = 0;
    let high = end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.judged[middle] < count) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private grow() {
    const capacity = Math.min(this.most, this.seq.length * 2);
    this.seq = copy(new Float64Array(capacity), this.seq);
    this.at = copy(new Float64Array(capacity), this.at);
    this.relevance = copy(new Float32Array(capacity), this.relevance);
    this.topic = copy(new Int32Array(capacity), this.topic);
    this.outcome = copy(new Uint8Array(capacity), this.outcome);
    this.sums = copy(new Float64Array(capacity + 1), this.sums);
    this.judged = copy(new Uint32Array(capacity + 1), this.judged);
  }

  private dropOlderHalf() {
    const from = this.length >> 1;
    for (const column of [this.seq, this.at, this.relevance, this.topic, this.outcome]) column.copyWithin(0, from, this.length);
    // The sums may start anywhere: only differences are used.
    for (const column of [this.sums, this.judged]) column.copyWithin(0, from, this.length + 1);
    this.length -= from;
  }
}

function copy<T extends Float64Array | Float32Array | Int32Array | Uint8Array | Uint32Array>(to: T, from: T): T {
  to.set(from as never);
  return to;
}
