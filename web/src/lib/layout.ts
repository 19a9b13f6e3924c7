/** Places the nodes of a small graph: linked nodes attract each other, all repel each other (Fruchterman and Reingold). */

export interface Place { x: number; y: number }

/** Deterministic: the nodes begin on a spiral. Time grows with the square of the number of nodes: a few hundred are fine. */
export function place(nodes: number, links: [number, number][], rounds = 240): Place[] {
  const places: Place[] = Array.from({ length: nodes }, (_, i) => {
    const angle = i * 2.399963; // the golden angle: no two nodes begin at the same place
    const radius = Math.sqrt(i + 1);
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
  const ideal = 1.6;
  const degrees = new Array<number>(nodes).fill(0);
  for (const [from, to] of links) {
    degrees[from] += 1;
    degrees[to] += 1;
  }
  for (let round = 0; round < rounds; round++) {
    const heat = 0.6 * (1 - round / rounds) + 0.01;
    const moves = places.map((one) => ({ x: -one.x * 0.15, y: -one.y * 0.15 }));
    for (let i = 0; i < nodes; i++) {
      for (let j = i + 1; j < nodes; j++) {
        const x = places[i].x - places[j].x;
        const y = places[i].y - places[j].y;
        const force = (ideal * ideal) / Math.max(0.05, x * x + y * y);
        moves[i].x += x * force;
        moves[i].y += y * force;
        moves[j].x -= x * force;
        moves[j].y -= y * force;
      }
    }
    for (const [from, to] of links) {
      const x = places[to].x - places[from].x;
      const y = places[to].y - places[from].y;
      // Nodes with many links would otherwise be placed on top of each other.
      const force = (Math.hypot(x, y) / ideal) * (0.8 / Math.sqrt(degrees[from] * degrees[to]));
      moves[from].x += x * force;
      moves[from].y += y * force;
      moves[to].x -= x * force;
      moves[to].y -= y * force;
    }
    places.forEach((one, i) => {
      const length = Math.hypot(moves[i].x, moves[i].y) || 1;
      const step = Math.min(length, heat * 2);
      one.x += (moves[i].x / length) * step;
      one.y += (moves[i].y / length) * step;
    });
  }
  return places;
}
