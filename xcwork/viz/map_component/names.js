// Names: keeping a million of them as one text, searching them, and choosing which are written without overlaps.

const MAX_LABELS_NAMED_NEAR = 800; // seen labels per reference area below which names of labels are written
const REFERENCE_AREA_PIXELS = 694 * 604;
const NAME_CELL_WIDTH_PIXELS = 118;
const NAME_CELL_HEIGHT_PIXELS = 34;
const MAX_NAME_LINE_PIXELS = 190;
const MAX_NAME_LINES = 3;
const NAME_LINE_PIXELS = 15;
const NAME_GAP_PIXELS = 5;
const MAX_HITS = 10000; // of one kind

class NameStore {
  // `bytes`: all names in UTF-8, a line each.
  constructor(bytes) {
    this.text = new TextDecoder().decode(bytes);
    this.ends = findLineEnds(this.text);
    this.folded = null;
  }

  get(place) {
    const start = place ? this.ends[place - 1] + 1 : 0;
    return this.text.slice(start, this.ends[place]);
  }

  // Places whose name contains the query in any case: the whole name first, then its beginning, the beginning of a part
  // of it, and the rest; the more frequent label first. Each kind is looked for alone, so that a short name is found
  // among a million that contain it.
  search(query, most, importance) {
    const wanted = query.trim().toLowerCase();
    if (!wanted) return [];
    this.fold();
    const ranks = new Map();
    this.collect(`\n${wanted}\n`, ranks, () => 0);
    this.collect(`\n${wanted}`, ranks, () => 1);
    this.collect(wanted, ranks, (hit) => (/[\p{L}\p{N}]/u.test(this.folded[hit - 1]) ? 3 : 2));
    const found = [...ranks].sort(([a, rankA], [b, rankB]) => rankA - rankB || importance[b] - importance[a] || a - b);
    return found.slice(0, most).map(([place]) => place);
  }

  // Lower case may be longer than the text, so it has line ends of its own; a line break in front makes all lines alike.
  fold() {
    if (this.folded) return;
    this.folded = `\n${this.text.toLowerCase()}`;
    this.foldedEnds = findLineEnds(this.folded).subarray(1);
  }

  collect(wanted, ranks, rankOf) {
    let from = 0;
    for (let found = 0; found < MAX_HITS; found++) {
      const hit = this.folded.indexOf(wanted, from);
      if (hit < 0) return;
      const place = findLine(this.foldedEnds, hit + (wanted[0] === "\n" ? 1 : 0));
      if (place >= this.foldedEnds.length) return;
      ranks.set(place, Math.min(ranks.get(place) ?? Infinity, rankOf(hit))); // a later hit in the name may be better
      from = hit + 1;
    }
  }
}

function findLineEnds(text) {
  const ends = [];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends.push(at);
  return Uint32Array.from(ends);
}

function findLine(ends, position) {
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Break a name at dots, underscores, dashes and spaces into at most three lines.
function wrapName(name, measure) {
  const lines = [""];
  for (const piece of name.match(/[^\s._\-/]*[\s._\-/]*/g).flatMap((each) => each.match(/.{1,24}/gu) || [])) {
    if (lines.at(-1) && measure(lines.at(-1) + piece) > MAX_NAME_LINE_PIXELS) lines.push("");
    lines[lines.length - 1] += piece;
  }
  const shown = lines.slice(0, MAX_NAME_LINES).map((line) => line.trim());
  if (lines.length > MAX_NAME_LINES) shown[MAX_NAME_LINES - 1] += "…";
  return shown;
}

// Boxes already taken; a new one is refused if it touches any of them.
class TakenBoxes {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.boxes = [];
  }

  overlaps(box) {
    const gap = NAME_GAP_PIXELS / 2;
    return this.boxes.some(
      (other) =>
        box.left < other.right + gap && box.right > other.left - gap && box.top < other.bottom + gap && box.bottom > other.top - gap,
    );
  }

  isOutside(box) {
    return box.left < 2 || box.top < 2 || box.right > this.width - 2 || box.bottom > this.height - 2;
  }

  tryToTake(box) {
    if (this.isOutside(box) || this.overlaps(box)) return false;
    this.boxes.push(box);
    return true;
  }
}

// Return the regions to name at this zoom: level k from zoom 2^k on, and coarser ones that are not divided further.
function listRegionsAt(regions, zoom) {
  const deepest = regions.reduce((level, region) => Math.max(level, region.level), 0);
  const wanted = Math.max(0, Math.min(deepest, Math.floor(Math.log2(Math.max(zoom, 1)) + 0.25)));
  const isDivided = new Set(regions.filter((region) => region.level <= wanted).map((region) => region.parent));
  return regions
    .map((region, at) => ({ ...region, at }))
    .filter((region) => region.level <= wanted && !isDivided.has(region.at))
    .sort((a, b) => b.is_weak - a.is_weak || b.n_labels - a.n_labels || a.at - b.at);
}

// The most important label of each screen cell, the most important first; empty when too many labels are seen.
function chooseNamedLabels(labels, grid, camera) {
  const seen = camera.seen;
  const most = (MAX_LABELS_NAMED_NEAR * camera.width * camera.height) / REFERENCE_AREA_PIXELS;
  if (grid.countNear(seen) > most * 3 + 200) return [];
  const best = new Map();
  let count = 0;
  grid.forEachIn(seen, (place, x, y) => {
    count++;
    const column = Math.floor(camera.toScreenX(x) / NAME_CELL_WIDTH_PIXELS);
    const cell = Math.floor(camera.toScreenY(y) / NAME_CELL_HEIGHT_PIXELS) * 1000 + column;
    const other = best.get(cell);
    if (other === undefined || labels.sizes[place] > labels.sizes[other]) best.set(cell, place);
  });
  if (count > most) return [];
  return [...best.values()].sort((a, b) => labels.sizes[b] - labels.sizes[a] || a - b);
}

// Boxes beside a point, in the order in which they are tried: right, left, above, below.
function placesBeside(x, y, radius, width, height) {
  const away = radius + 4;
  return [
    { left: x + away, top: y - height / 2 },
    { left: x - away - width, top: y - height / 2 },
    { left: x - width / 2, top: y - away - height },
    { left: x - width / 2, top: y + away },
  ].map(({ left, top }) => ({ left, top, right: left + width, bottom: top + height }));
}
