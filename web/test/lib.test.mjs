import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dots } from '../src/lib/dots.ts';
import { address, bytes, count, duration, isWebAddress, percent, short } from '../src/lib/format.ts';
import { highlight } from '../src/lib/highlight.ts';
import { crawlsOf, difference, isClear, meanOf, measuredAt, measuresOf } from '../src/lib/lab.ts';
import { place } from '../src/lib/layout.ts';
import { discMask, ticks } from '../src/lib/scatter.ts';
import { chartOf, toCsv } from '../src/lib/table.ts';

function columns(from, relevance, outcome = relevance.map(() => 1)) {
  return { seq: relevance.map((_, i) => from + i), at: relevance.map((_, i) => (from + i) * 1000), relevance, topic: relevance.map(() => null), outcome, last: 0, more: false };
}

test('numbers are written as people read them', () => {
  for (const [value, expected] of [[0, '0%'], [0.0004, '<0.1%'], [0.004, '0.4%'], [0.5, '50%'], [0.996, '99.6%'], [0.99996, '99.9%'], [1, '100%'], [null, '–'], [NaN, '–']]) assert.equal(percent(value), expected);
  for (const [value, expected] of [[3, '3'], [999.6, '1,000'], [12_340, '12.3k'], [4_600_000, '4.6M'], [0.25, '0.3']]) assert.equal(short(value), expected);
  assert.equal(count(1234567), '1,234,567');
  assert.equal(bytes(999), '999 B');
  assert.equal(bytes(18_400), '18.4 kB');
  assert.equal(duration(59_400), '59 s');
  assert.equal(duration(7_500_000), '2 h 5 min');
});

test('only web addresses become links', () => {
  for (const url of ['http://a.example/', 'HTTPS://a.example']) assert.ok(isWebAddress(url));
  for (const url of ['javascript:alert(1)', ' https://a', 'data:text/html,x', 'file:///etc/passwd', '//a.example', '']) assert.ok(!isWebAddress(url));
  assert.equal(address('https://a.example/b%20c/'), 'a.example/b c');
  assert.equal(address('https://a.example/%FF'), 'a.example/%FF');
});

test('the moving average is the mean of the judged pages in its window', () => {
  const dots = new Dots();
  dots.append(columns(1, [1, 0, null, 0.5], [1, 1, 3, 1]));
  assert.equal(dots.average(3, 2), 0.25);
  assert.equal(dots.average(3, 100), 0.5);
  assert.equal(dots.average(1, 1), 0);
  assert.equal(dots.average(2, 1), 0);
  assert.ok(Number.isNaN(new Dots().average(0, 1)));
  // Copies have a relevance, but count as 0.
  dots.append(columns(5, [1], [7]));
  assert.equal(dots.average(4, 100), 0.375);
});

test('dots that are known already are not added again', () => {
  const dots = new Dots();
  dots.append(columns(1, [0.1, 0.2]));
  dots.append(columns(2, [0.2, 0.3]));
  assert.equal(dots.length, 3);
  assert.equal(dots.lastSeq, 3);
});

test('the older half is dropped when there are too many, and averages stay right', () => {
  const dots = new Dots(100);
  assert.ok(dots.append(columns(1, Array.from({ length: 100 }, () => 0))));
  assert.ok(!dots.append(columns(101, [1])));
  assert.equal(dots.length, 51);
  assert.equal(dots.seq[0], 51);
  assert.equal(dots.average(50, 2), 0.5);
});

test('columns grow without losing dots', () => {
  const dots = new Dots();
  dots.append(columns(1, Array.from({ length: 40_000 }, (_, i) => i / 40_000)));
  assert.equal(dots.length, 40_000);
  assert.equal(dots.seq[39_999], 40_000);
  assert.equal(dots.firstAt('seq', 30_000), 29_999);
  assert.equal(dots.rate(10_000, 40_000_000).toFixed(1), '1.1');
});

test('ticks are round and not too many', () => {
  for (const [from, to] of [[0, 100], [1, 3_450], [190_000, 423_000]]) {
    const found = ticks('seq', from, to, 8);
    assert.ok(found.length >= 2 && found.length <= 9, `${from} to ${to}: ${found.length}`);
    for (const { value } of found) assert.ok(value >= from && value <= to);
  }
  for (const hours of [0.01, 1, 30, 2000]) {
    const found = ticks('at', 1.7e12, 1.7e12 + hours * 3_600_000, 8);
    assert.ok(found.length <= 9);
  }
});

test('a disc is symmetric and strongest in its middle', () => {
  const mask = discMask(5, 2.5, 0.5);
  assert.equal(mask[12], 0.5);
  assert.ok(mask[0] < mask[2]);
  assert.equal(mask[0], mask[24]);
});

test('words are marked in the text with their weights, also with endings', () => {
  const pieces = highlight('Warblers nest, <b>markets</b> do not.', [{ word: 'warbler', weight: 2 }, { word: 'nest', weight: 1 }, { word: 'market', weight: -1 }]);
  assert.deepEqual(pieces.filter((piece) => piece.weight).map((piece) => [piece.text, piece.weight]), [['Warblers', 2], ['nest', 1], ['markets', -1]]);
  assert.equal(pieces.map((piece) => piece.text).join(''), 'Warblers nest, <b>markets</b> do not.');
});

test('CSV quotes, and disarms formulas', () => {
  assert.equal(toCsv(['a', 'b'], [['x,"y"', 1], ['=1+1', null], [-2, '-2']]), 'a,b\r\n"x,""y""",1\r\n\'=1+1,\r\n-2,\'-2\r\n');
});

test('a chart needs numbers, and lines need an ascending first column', () => {
  assert.equal(chartOf(['a'], [[1], [2]]), null);
  assert.equal(chartOf(['a', 'b'], [['x', 'y'], ['z', 'w']]), null);
  assert.deepEqual(chartOf(['a', 'b', 'c'], [[1, 2, 'x'], [2, 3, 'y']]), { x: 0, ys: [1], labels: false });
  assert.deepEqual(chartOf(['a', 'b'], [['x', 2], ['y', null]]), { x: 0, ys: [1], labels: true });
});

test('a layout keeps linked nodes together and no two at one place', () => {
  const places = place(20, Array.from({ length: 9 }, (_, i) => [0, i + 1]));
  const distance = (a, b) => Math.hypot(places[a].x - places[b].x, places[a].y - places[b].y);
  for (let i = 0; i < 20; i++) for (let j = i + 1; j < 20; j++) assert.ok(distance(i, j) > 0.05);
  const mean = (from, to) => { let sum = 0; for (let i = from; i < to; i++) sum += distance(0, i); return sum / (to - from); };
  assert.ok(mean(1, 10) < mean(10, 20));
  assert.deepEqual(place(5, [[0, 1]]), place(5, [[0, 1]]));
});

test('strategies are compared crawl by crawl, and every topic has the same weight', () => {
  const crawl = (strategy, topic, sample, harvest) => ({ topic, strategy, sample, fetched: 10, harvest: { 10: harvest }, recall: { 10: harvest / 2 } });
  const rows = [
    crawl('soft', '/A', 0, 0.2), crawl('soft', '/A', 1, 0.4), crawl('soft', '/A', 2, 0.6), crawl('soft', '/B', 0, 0.8),
    crawl('ours', '/A', 0, 0.3), crawl('ours', '/A', 1, 0.5), crawl('ours', '/B', 0, 0.7), crawl('ours', '/C', 0, 1),
  ];
  const crawls = crawlsOf([...rows, { topic: '/A' }, { strategy: 'soft', topic: '/A', harvest: null, recall: {} }]);
  assert.equal(crawls.length, rows.length);
  assert.deepEqual(measuredAt(crawls), [10]);
  const [harvest, recall, ...others] = measuresOf(crawls);
  assert.deepEqual([harvest.name, recall.name, others], ['harvest at 10', 'recall at 10', []]);
  // 0.4 in /A, 0.8 in /B.
  assert.ok(Math.abs(meanOf(crawls, 'soft', harvest) - 0.6) < 1e-12);
  // +0.1 twice in /A, -0.1 in /B; /C has no pair.
  const ahead = difference(crawls, 'ours', 'soft', harvest);
  assert.ok(Math.abs(ahead.mean) < 1e-12 && ahead.pairs === 3, JSON.stringify(ahead));
  assert.ok(Math.abs(ahead.low + 0.1) < 1e-12 && Math.abs(ahead.high - 0.1) < 1e-12, JSON.stringify(ahead));
  assert.equal(difference(crawls, 'none', 'soft', harvest), null);
  assert.ok(isClear({ mean: 1, low: 0.1, high: 2, pairs: 6 }) && !isClear({ mean: 1, low: 0.1, high: 2, pairs: 5 }) && !isClear({ mean: 1, low: -0.1, high: 2, pairs: 9 }));
});
