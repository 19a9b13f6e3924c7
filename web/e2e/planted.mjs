/**
 * Generated pages with special content, at hosts for which the proxy of the tests answers: a topic that is exhausted at some
 * point, and one whose pages occur at random. Page n links to three others, so that a crawl can reach all of them.
 */
const BIRDS = 'owl nest feather beak plumage robin hawk songbird migration egg wing sparrow falcon warbler finch talon fledgling roost perch heron stork crane swallow thrush kestrel'.split(' ');
const FOOD = 'soup bread oven onion salt recipe flour butter pepper dinner stew kitchen garlic sauce pan dough noodle cheese spice roast broth pastry vinegar sugar lentil'.split(' ');

export const WORDS = { Birds: BIRDS, Food: FOOD };
/** Pages before this one are about birds, those after it about food. */
export const DROP = 'http://drop.planted.example/';
/** Half of the pages, at random, are about birds. */
export const NOISE = 'http://noise.planted.example/';

const DRIES_UP_AT = 350;
const MOST = 6000;

/** The page at an address, or null. */
export function planted(address) {
  const base = [DROP, NOISE].find((base) => address.startsWith(base));
  if (!base) return null;
  const number = Number(/^p\/(\d+)$/.exec(address.slice(base.length))?.[1] ?? NaN);
  if (!(number < MOST)) return { status: 404, body: '' };
  return { status: 200, body: base === DROP ? page(number, number < DRIES_UP_AT, dropLinks(number)) : page(number, draw(number) < 0.5, tree(number, 0, MOST)) };
}

/** The pages about birds form a tree; the last one links to a second tree, of pages about food. */
function dropLinks(number) {
  if (number < DRIES_UP_AT) return [...tree(number, 0, DRIES_UP_AT), ...(number === DRIES_UP_AT - 1 ? [DRIES_UP_AT] : [])];
  return tree(number, DRIES_UP_AT, MOST);
}

function tree(number, first, end) {
  return [1, 2, 3].map((step) => first + 3 * (number - first) + step).filter((to) => to < end);
}

/** No two pages have the same text. Anchor texts say nothing about the target. */
function page(number, isGood, links) {
  const words = isGood ? BIRDS : FOOD;
  const text = Array.from({ length: 80 }, (_, i) => words[Math.floor(draw(number * 100 + i) * words.length)]).join(' ');
  return `<html lang=en><title>page ${number}</title><p>${text}</p>${links.map((to) => `<a href="/p/${to}">number ${to}</a>`).join(' ')}`;
}

/** A pseudorandom number between 0 and 1 for a number. */
function draw(number) {
  let x = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}
