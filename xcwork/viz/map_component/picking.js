// Finding labels by place: the nearest to the pointer, those in a rectangle, those inside a drawn polygon.
// Labels are sorted into square cells, so that a question looks at few of the million.

const LABELS_PER_CELL = 3;
const MAX_CELLS_ACROSS = 768;
const MAX_POLYGON_POINTS = 40;
const POLYGON_DIGITS = 1e5; // rounded, so that an address can hold it and the server reads the same numbers

// Even-odd rule in double precision. `find_inside` in Python does the same steps in the same order.
function isInside(x, y, polygon) {
  let inside = false;
  for (let at = 0, before = polygon.length - 1; at < polygon.length; before = at++) {
    const xAt = polygon[at][0];
    const yAt = polygon[at][1];
    const xBefore = polygon[before][0];
    const yBefore = polygon[before][1];
    if (yAt > y !== yBefore > y && x < ((xBefore - xAt) * (y - yAt)) / (yBefore - yAt) + xAt) inside = !inside;
  }
  return inside;
}

class PointGrid {
  constructor(labels) {
    this.positions = labels.positions;
    this.sizes = labels.sizes;
    const [left, bottom, right, top] = labels.bounds;
    this.left = left;
    this.bottom = bottom;
    const across = Math.sqrt(labels.count / LABELS_PER_CELL);
    this.cells = Math.max(1, Math.min(MAX_CELLS_ACROSS, Math.ceil(across)));
    this.cellSize = (Math.max(right - left, top - bottom) || 1) / this.cells;
    this.starts = new Uint32Array(this.cells * this.cells + 1);
    this.places = new Uint32Array(labels.count);
    this.sort(labels.count);
  }

  sort(count) {
    const cellOf = new Uint32Array(count);
    for (let at = 0; at < count; at++) {
      cellOf[at] = this.row(this.positions[2 * at + 1]) * this.cells + this.column(this.positions[2 * at]);
      this.starts[cellOf[at] + 1]++;
    }
    for (let cell = 0; cell < this.cells * this.cells; cell++) this.starts[cell + 1] += this.starts[cell];
    const next = this.starts.slice();
    for (let at = 0; at < count; at++) this.places[next[cellOf[at]]++] = at;
  }

  clamp(cell) {
    return Math.min(this.cells - 1, Math.max(0, cell));
  }

  column(x) {
    return this.clamp(Math.floor((x - this.left) / this.cellSize));
  }

  row(y) {
    return this.clamp(Math.floor((y - this.bottom) / this.cellSize));
  }

  // How many labels lie in the cells that touch a rectangle: an upper bound in few steps.
  countNear([left, bottom, right, top]) {
    let count = 0;
    const from = this.column(left);
    const to = this.column(right);
    for (let row = this.row(bottom); row <= this.row(top); row++) {
      count += this.starts[row * this.cells + to + 1] - this.starts[row * this.cells + from];
    }
    return count;
  }

  forEachIn([left, bottom, right, top], visit) {
    const from = this.column(left);
    const to = this.column(right);
    for (let row = this.row(bottom); row <= this.row(top); row++) {
      const end = this.starts[row * this.cells + to + 1];
      for (let slot = this.starts[row * this.cells + from]; slot < end; slot++) {
        const place = this.places[slot];
        const x = this.positions[2 * place];
        const y = this.positions[2 * place + 1];
        if (x >= left && x <= right && y >= bottom && y <= top) visit(place, x, y);
      }
    }
  }

  // The nearest label within `radius`, or -1; of two at the same place the more frequent one.
  nearest(x, y, radius) {
    let best = -1;
    let bestDistance = radius * radius;
    this.forEachIn([x - radius, y - radius, x + radius, y + radius], (place, placeX, placeY) => {
      const distance = (placeX - x) ** 2 + (placeY - y) ** 2;
      const isTie = best >= 0 && distance === bestDistance && this.sizes[place] > this.sizes[best];
      if (distance < bestDistance || isTie) {
        best = place;
        bestDistance = distance;
      }
    });
    return best;
  }

  // The places inside a polygon, at most `most` of them, and their number. Cells without a side of the polygon are
  // inside or outside as a whole, and so is every such cell that follows one in its row.
  findInside(polygon, most = Infinity) {
    const xs = polygon.map(([x]) => x);
    const ys = polygon.map(([, y]) => y);
    const [from, to] = [this.column(Math.min(...xs)), this.column(Math.max(...xs))];
    const touched = this.findTouchedCells(polygon);
    const places = [];
    let count = 0;
    const take = (slot) => {
      if (count++ < most) places.push(this.places[slot]);
    };
    for (let row = this.row(Math.min(...ys)); row <= this.row(Math.max(...ys)); row++) {
      let isRunInside = null;
      for (let column = from; column <= to; column++) {
        const cell = row * this.cells + column;
        const end = this.starts[cell + 1];
        let slot = this.starts[cell];
        if (touched[cell]) {
          isRunInside = null;
          for (; slot < end; slot++) {
            const place = this.places[slot];
            if (isInside(this.positions[2 * place], this.positions[2 * place + 1], polygon)) take(slot);
          }
          continue;
        }
        isRunInside ??= isInside(this.left + (column + 0.5) * this.cellSize, this.bottom + (row + 0.5) * this.cellSize, polygon);
        if (!isRunInside) continue;
        for (; slot < end && count < most; slot++) take(slot);
        count += end - slot;
      }
    }
    return { places, count };
  }

  // Mark the cells that a side of the polygon passes, and one more on each side for safety.
  findTouchedCells(polygon) {
    const touched = new Uint8Array(this.cells * this.cells);
    polygon.forEach(([x, y], at) => {
      const [nextX, nextY] = polygon[(at + 1) % polygon.length];
      const [lowX, lowY, highX, highY] = y <= nextY ? [x, y, nextX, nextY] : [nextX, nextY, x, y];
      const slope = highY > lowY ? (highX - lowX) / (highY - lowY) : 0;
      for (let row = this.clamp(this.row(lowY) - 1); row <= this.clamp(this.row(highY) + 1); row++) {
        const bottom = Math.max(lowY, Math.min(highY, this.bottom + (row - 1) * this.cellSize));
        const top = Math.max(lowY, Math.min(highY, this.bottom + (row + 2) * this.cellSize));
        const ends = highY > lowY ? [lowX + (bottom - lowY) * slope, lowX + (top - lowY) * slope] : [lowX, highX];
        const from = this.clamp(this.column(Math.min(...ends)) - 1);
        const to = this.clamp(this.column(Math.max(...ends)) + 1);
        touched.fill(1, row * this.cells + from, row * this.cells + to + 1);
      }
    });
    return touched;
  }
}

// Reduce a drawn path to a polygon of at most 40 points: drop what deviates least, with a growing tolerance.
function simplifyPath(path, tolerance) {
  const round = (value) => Math.round(value * POLYGON_DIGITS) / POLYGON_DIGITS;
  let kept = path;
  for (let allowed = tolerance; ; allowed *= 1.4) {
    kept = dropFlatPoints(path, allowed);
    if (kept.length <= MAX_POLYGON_POINTS) break;
  }
  return kept.map(([x, y]) => [round(x), round(y)]);
}

function dropFlatPoints(path, allowed) {
  const keep = new Uint8Array(path.length);
  keep[0] = keep[path.length - 1] = 1;
  const waiting = [[0, path.length - 1]];
  while (waiting.length) {
    const [first, last] = waiting.pop();
    let worst = -1;
    let worstDistance = allowed;
    for (let at = first + 1; at < last; at++) {
      const distance = distanceToLine(path[at], path[first], path[last]);
      if (distance > worstDistance) [worst, worstDistance] = [at, distance];
    }
    if (worst >= 0) {
      keep[worst] = 1;
      waiting.push([first, worst], [worst, last]);
    }
  }
  return path.filter((_, at) => keep[at]);
}

function distanceToLine([x, y], [fromX, fromY], [toX, toY]) {
  const length = Math.hypot(toX - fromX, toY - fromY);
  if (length === 0) return Math.hypot(x - fromX, y - fromY);
  const along = Math.max(0, Math.min(1, ((x - fromX) * (toX - fromX) + (y - fromY) * (toY - fromY)) / length ** 2));
  return Math.hypot(x - fromX - along * (toX - fromX), y - fromY - along * (toY - fromY));
}
