/** Highlights the words that decided a judgment, in the text that the critic read. */
import type { WordWeight } from './api';

export interface Piece { text: string; weight: number }

/** Endings that a stem may lose: `warblers` is marked for `warbler`, `nesting` for `nest`. */
const LONGEST_ENDING = 4;

export function highlight(text: string, words: WordWeight[]): Piece[] {
  const weights = new Map(words.map(({ word, weight }) => [word.toLowerCase(), weight]));
  const pieces: Piece[] = [];
  let plain = '';
  for (const part of text.split(/([\p{L}\p{N}]+)/u)) {
    const weight = weightOf(part.toLowerCase(), weights);
    if (!weight) {
      plain += part;
      continue;
    }
    if (plain) pieces.push({ text: plain, weight: 0 });
    plain = '';
    pieces.push({ text: part, weight });
  }
  if (plain) pieces.push({ text: plain, weight: 0 });
  return pieces;
}

function weightOf(word: string, weights: Map<string, number>): number {
  const exact = weights.get(word);
  if (exact !== undefined) return exact;
  for (let cut = 1; cut <= LONGEST_ENDING && word.length - cut >= 3; cut++) {
    const weight = weights.get(word.slice(0, -cut));
    if (weight !== undefined) return weight;
  }
  return 0;
}
