/** Tables as text for other programs. */

export type Cell = string | number | boolean | null;

/** RFC 4180. Cells that a spreadsheet would take for formulas get a `'` in front, as in `porthole query --csv`. */
export function toCsv(columns: string[], rows: Cell[][]): string {
  return [columns, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n') + '\r\n';
}

function csvCell(cell: Cell): string {
  if (cell === null) return '';
  let text = String(cell);
  if (typeof cell === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Lets the browser save a text as a file. */
export function download(name: string, type: string, text: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * Which columns a chart can draw: the first column as x (numbers, or labels for bars), and every column of numbers as
 * a line. Null if there is nothing to draw.
 */
export function chartOf(columns: string[], rows: Cell[][]): { x: number; ys: number[]; labels: boolean } | null {
  if (rows.length < 2 || columns.length < 2) return null;
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === 'number') && rows.every((row) => row[i] === null || typeof row[i] === 'number'));
  const ys = columns.map((_, i) => i).filter((i) => i > 0 && numeric[i]).slice(0, 5);
  if (!ys.length) return null;
  const ascending = numeric[0] && rows.every((row, i) => i === 0 || (row[0] as number) >= (rows[i - 1][0] as number));
  return { x: 0, ys, labels: !ascending };
}
