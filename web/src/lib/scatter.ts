/**
 * The scatter plot of relevance: one dot per fetch, on two canvases. The lower one holds the dots and is append-only: new dots are
 * blended into its pixels, and everything is drawn again only when the range or the size changes. The upper one holds the
 * axes, the moving average and the selection, which are few and drawn at every update.
 */
import { DEAD, PAGE, RETRY, type Dots } from './dots';
import { short } from './format';

export type Axis = 'seq' | 'at';
/** The whole crawl, the last N fetches, or a fixed range that the user chose. */
export type View = { kind: 'all' } | { kind: 'last'; fetches: number } | { kind: 'range'; from: number; to: number };

export interface Colours { surface: string; grid: string; ink: string; muted: string; low: string; high: string; dead: string; average: string }

const LEFT = 44;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 28;
/** Rows below zero, for fetches without a judgment; failures have another colour. */
const LANE = 18;
const PAD = 4;
const SHADES = 24;
/** A live range extends this far beyond the last dot, so that most updates need no new range. */
const HEADROOM = 0.12;

export class Scatter {
  axis: Axis = 'seq';
  view: View = { kind: 'all' };
  /** Pages that the moving average spans. */
  window = 100;
  isLive = false;
  hovered = -1;
  selection: { from: number; to: number } | null = null;

  private image: ImageData | null = null;
  private width = 0;
  private height = 0;
  private ratio = 1;
  private from = 0;
  private to = 1;
  private drawn = 0;
  /** Pixel column in which the lines end at present. */
  private linesEnd = -1;
  private shades: Uint8Array = new Uint8Array(0);
  private mask: Float32Array = new Float32Array(0);
  private size = 3;
  private readonly pixels: CanvasRenderingContext2D;
  private readonly lines: CanvasRenderingContext2D;

  constructor(private readonly base: HTMLCanvasElement, private readonly overlay: HTMLCanvasElement, private dots: Dots, private colours: Colours) {
    this.pixels = base.getContext('2d', { alpha: false })!;
    this.lines = overlay.getContext('2d')!;
  }

  setColours(colours: Colours) {
    this.colours = colours;
    this.redraw();
  }

  resize(width: number, height: number, ratio: number) {
    if (width < 1 || height < 1) return;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    for (const canvas of [this.base, this.overlay]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.image = null;
    this.redraw();
  }

  /** Draws the dots that were appended since the last call. */
  update() {
    if (!this.width) return;
    if (!this.fits() || this.drawn > this.dots.length || !this.dots.length) this.redraw();
    else this.append();
  }

  /** Draws everything again: the range, the size or the colours changed. */
  redraw() {
    if (!this.width) return;
    this.fit();
    const image = (this.image ??= this.pixels.createImageData(this.base.width, this.base.height));
    this.prepareInk();
    this.paintGround(image);
    const [first, end] = this.visible();
    for (let i = first; i < end; i++) this.blend(image.data, i);
    this.drawn = this.dots.length;
    this.pixels.putImageData(image, 0, 0);
    this.drawLines();
  }

  /** The dot nearest to a place within a few pixels, or -1. */
  hit(x: number, y: number, reach = 10): number {
    const first = this.dots.firstAt(this.axis, this.valueAt(x - reach));
    const last = this.valueAt(x + reach);
    const column = this.dots[this.axis];
    let best = -1;
    let least = reach * reach;
    for (let i = first; i < this.dots.length && column[i] <= last; i++) {
      const distance = (this.x(i) - x) ** 2 + (this.y(i) - y) ** 2;
      if (distance <= least) {
        least = distance;
        best = i;
      }
    }
    return best;
  }

  x(index: number): number {
    return this.xOf(this.dots[this.axis][index]);
  }

  y(index: number): number {
    const relevance = this.dots.relevance[index];
    if (Number.isNaN(relevance)) return this.bottom + LANE * 0.62;
    return this.yOf(relevance);
  }

  valueAt(x: number): number {
    return this.from + ((x - LEFT) / (this.width - LEFT - RIGHT)) * (this.to - this.from);
  }

  get range(): { from: number; to: number } {
    return { from: this.from, to: this.to };
  }

  /** Zooms by a factor around a place, within the crawl. */
  zoom(factor: number, x: number) {
    const centre = this.valueAt(Math.min(Math.max(x, LEFT), this.width - RIGHT));
    const [first, last] = this.extent();
    const from = Math.max(first, centre - (centre - this.from) * factor);
    const to = Math.min(last, centre + (this.to - centre) * factor);
    const least = this.axis === 'seq' ? 10 : 2000;
    if (to - from < least) return;
    this.view = from <= first && to >= last ? { kind: 'all' } : { kind: 'range', from, to };
    this.redraw();
  }

  drawLines() {
    const context = this.lines;
    this.linesEnd = this.dots.length ? Math.floor(this.x(this.dots.length - 1)) : -1;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.drawAxes(context);
    this.drawAverage(context);
    if (this.selection) this.drawSelection(context);
    if (this.hovered >= 0 && this.hovered < this.dots.length) this.drawRing(context);
  }

  private get bottom(): number {
    return this.height - BOTTOM - LANE;
  }

  private xOf(value: number): number {
    return LEFT + ((value - this.from) / (this.to - this.from)) * (this.width - LEFT - RIGHT);
  }

  private yOf(relevance: number): number {
    return TOP + PAD + (1 - relevance) * (this.bottom - TOP - 2 * PAD);
  }

  private extent(): [number, number] {
    const column = this.dots[this.axis];
    if (!this.dots.length) return this.axis === 'seq' ? [0, 100] : [Date.now() - 60_000, Date.now()];
    const first = column[0];
    const least = this.axis === 'seq' ? 50 : 30_000;
    return [first, Math.max(first + least, column[this.dots.length - 1])];
  }

  private fits(): boolean {
    if (!this.dots.length || this.view.kind === 'range') return true;
    return this.dots[this.axis][this.dots.length - 1] <= this.to && this.drawn > 0;
  }

  private fit() {
    const [first, last] = this.extent();
    const room = this.isLive ? HEADROOM : 0.01;
    if (this.view.kind === 'range') {
      this.from = this.view.from;
      this.to = this.view.to;
    } else if (this.view.kind === 'last') {
      const start = this.dots.length ? this.dots[this.axis][Math.max(0, this.dots.length - this.view.fetches)] : first;
      this.from = Math.max(first, start);
      this.to = Math.max(last, this.from + 10) + (last - this.from) * (this.isLive ? 0.25 : 0.01);
    } else {
      this.from = first;
      this.to = last + (last - first) * room;
    }
  }

  private visible(): [number, number] {
    return [this.dots.firstAt(this.axis, this.from), Math.min(this.dots.length, this.dots.firstAt(this.axis, this.to) + 1)];
  }

  private append() {
    const image = this.image;
    const from = this.drawn;
    this.drawn = this.dots.length;
    if (image && from < this.dots.length) {
      let left = Infinity;
      let right = -Infinity;
      for (let i = from; i < this.dots.length; i++) {
        const value = this.dots[this.axis][i];
        if (value < this.from || value > this.to) continue;
        this.blend(image.data, i);
        const x = this.x(i) * this.ratio;
        if (x < left) left = x;
        if (x > right) right = x;
      }
      if (right >= left) {
        const x = Math.max(0, Math.floor(left - this.size));
        const width = Math.min(image.width - x, Math.ceil(right - left + 2 * this.size + 2));
        this.pixels.putImageData(image, 0, 0, x, 0, width, image.height);
      }
    }
    // Drawing the lines of a long crawl takes most of the time of an update; skip it if they end in the same pixel as before.
    if (Math.floor(this.x(this.dots.length - 1)) !== this.linesEnd) this.drawLines();
  }

  /** The fewer dots there are, the larger and more opaque they are: three are as readable as 200,000. */
  private prepareInk() {
    const [first, end] = this.visible();
    const crowd = (end - first) / Math.max(1, this.width - LEFT - RIGHT);
    const diameter = (crowd < 0.6 ? 7 : crowd < 3 ? 5 : crowd < 20 ? 3.5 : 2.5) * this.ratio;
    const strength = crowd < 0.6 ? 0.8 : crowd < 3 ? 0.6 : crowd < 20 ? 0.45 : crowd < 80 ? 0.3 : 0.18;
    this.size = Math.ceil(diameter);
    this.mask = discMask(this.size, diameter / 2, strength);
    const low = rgb(this.colours.low);
    const high = rgb(this.colours.high);
    this.shades = new Uint8Array((SHADES + 2) * 3);
    for (let i = 0; i < SHADES; i++) {
      const share = i / (SHADES - 1);
      for (let c = 0; c < 3; c++) this.shades[i * 3 + c] = low[c] + (high[c] - low[c]) * share;
    }
    this.shades.set(rgb(this.colours.dead), SHADES * 3);
    this.shades.set(low, (SHADES + 1) * 3);
  }

  private paintGround(image: ImageData) {
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(packed(rgb(this.colours.surface)));
    const grid = packed(rgb(this.colours.grid));
    const left = Math.round(LEFT * this.ratio);
    const right = Math.round((this.width - RIGHT) * this.ratio);
    for (const value of [0, 0.25, 0.5, 0.75, 1]) {
      const y = Math.round(this.yOf(value) * this.ratio);
      pixels.fill(grid, y * image.width + left, y * image.width + right);
    }
  }

  private blend(data: Uint8ClampedArray, index: number) {
    const size = this.size;
    const width = this.base.width;
    const left = Math.round(this.x(index) * this.ratio - size / 2);
    const top = Math.round(this.y(index) * this.ratio - size / 2);
    if (left < 0 || top < 0 || left + size >= width || top + size >= this.base.height) return;
    const shade = this.shadeOf(index) * 3;
    const red = this.shades[shade];
    const green = this.shades[shade + 1];
    const blue = this.shades[shade + 2];
    for (let row = 0, m = 0; row < size; row++) {
      let p = ((top + row) * width + left) * 4;
      for (let column = 0; column < size; column++, m++, p += 4) {
        const alpha = this.mask[m];
        data[p] += (red - data[p]) * alpha;
        data[p + 1] += (green - data[p + 1]) * alpha;
        data[p + 2] += (blue - data[p + 2]) * alpha;
      }
    }
  }

  private shadeOf(index: number): number {
    const outcome = this.dots.outcome[index];
    if (outcome === DEAD || outcome === RETRY) return SHADES;
    const relevance = this.dots.relevance[index];
    if (outcome !== PAGE || Number.isNaN(relevance)) return SHADES + 1;
    return Math.min(SHADES - 1, Math.floor(relevance * SHADES));
  }

  private drawAxes(context: CanvasRenderingContext2D) {
    context.font = '11px "Inter Variable", system-ui, sans-serif';
    context.fillStyle = this.colours.muted;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const value of [0, 0.25, 0.5, 0.75, 1]) context.fillText(`${value * 100}%`, LEFT - 8, this.yOf(value));
    context.textBaseline = 'top';
    const y = this.height - BOTTOM + 8;
    let free = LEFT - 20;
    for (const tick of ticks(this.axis, this.from, this.to, Math.max(2, Math.floor(this.width / 110)))) {
      const x = this.xOf(tick.value);
      const half = context.measureText(tick.label).width / 2;
      if (x - half < free || x + half > this.width) continue;
      free = x + half + 12;
      context.textAlign = 'center';
      context.fillText(tick.label, x, y);
      context.fillStyle = this.colours.grid;
      context.fillRect(Math.round(x), this.height - BOTTOM, 1, 4);
      context.fillStyle = this.colours.muted;
    }
  }

  private drawAverage(context: CanvasRenderingContext2D) {
    const [first, end] = this.visible();
    if (end - first < 2) return;
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP - 2, this.width - LEFT - RIGHT, this.bottom - TOP + 6);
    context.clip();
    const path = new Path2D();
    let isStarted = false;
    let index = first;
    const column = this.dots[this.axis];
    for (let x = LEFT; x <= this.width - RIGHT; x++) {
      const value = this.valueAt(x + 1);
      const before = index;
      while (index < end && column[index] < value) index = Math.max(index + 1, Math.min(end, this.dots.firstAt(this.axis, value)));
      if (index === before) continue;
      const average = this.dots.average(index - 1, this.window);
      if (Number.isNaN(average) || !this.dots.isSettled(index - 1)) continue;
      if (isStarted) path.lineTo(x, this.yOf(average));
      else path.moveTo(x, this.yOf(average));
      isStarted = true;
    }
    context.lineJoin = 'round';
    context.strokeStyle = this.colours.surface;
    context.globalAlpha = 0.65;
    context.lineWidth = 4;
    context.stroke(path);
    context.globalAlpha = 1;
    context.strokeStyle = this.colours.average;
    context.lineWidth = 2;
    context.stroke(path);
    context.restore();
  }

  private drawSelection(context: CanvasRenderingContext2D) {
    const { from, to } = this.selection!;
    context.fillStyle = this.colours.average;
    context.globalAlpha = 0.14;
    context.fillRect(Math.min(from, to), TOP, Math.abs(to - from), this.bottom - TOP + LANE);
    context.globalAlpha = 1;
  }

  private drawRing(context: CanvasRenderingContext2D) {
    context.beginPath();
    context.arc(this.x(this.hovered), this.y(this.hovered), 6, 0, 2 * Math.PI);
    context.strokeStyle = this.colours.surface;
    context.lineWidth = 4;
    context.stroke();
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1.75;
    context.stroke();
  }
}

/** Coverage of a disc, pixel by pixel, times its strength. */
export function discMask(size: number, radius: number, strength: number): Float32Array {
  const mask = new Float32Array(size * size);
  const middle = (size - 1) / 2;
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const distance = Math.hypot(row - middle, column - middle);
      mask[row * size + column] = Math.min(1, Math.max(0, radius - distance + 0.5)) * strength;
    }
  }
  return mask;
}

/** Round values in a range, at most `most` of them, with their labels. */
export function ticks(axis: Axis, from: number, to: number, most: number): { value: number; label: string }[] {
  const steps = axis === 'seq' ? decimalSteps(to - from) : TIME_STEPS;
  const step = steps.find((size) => (to - from) / size <= most) ?? steps[steps.length - 1];
  const shift = axis === 'at' ? new Date(from).getTimezoneOffset() * 60_000 : 0;
  const found = [];
  for (let value = Math.ceil((from - shift) / step) * step + shift; value <= to; value += step) {
    found.push({ value, label: axis === 'seq' ? short(value) : timeLabel(value, step) });
  }
  return found;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY];

function decimalSteps(span: number): number[] {
  const unit = 10 ** Math.floor(Math.log10(Math.max(10, span)) - 1);
  return [1, 2, 5, 10, 20, 50, 100].map((factor) => factor * unit);
}

function timeLabel(time: number, step: number): string {
  const date = new Date(time);
  if (step >= DAY) return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return date.toLocaleTimeString('en-GB', step < MINUTE ? { hour: '2-digit', minute: '2-digit', second: '2-digit' } : { hour: '2-digit', minute: '2-digit' });
}

function rgb(colour: string): [number, number, number] {
  const hex = colour.trim().replace('#', '');
  const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex;
  return [0, 2, 4].map((i) => parseInt(full.slice(i, i + 2), 16)) as [number, number, number];
}

/** A pixel of ImageData as one number (little-endian, as all machines with browsers are). */
function packed([red, green, blue]: [number, number, number]): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
