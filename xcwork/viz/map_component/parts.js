// Reading what Python packed: a header in JSON and arrays behind it, some of them compressed.
// Layout: 4 bytes length of the header (little endian), the header, zeros up to a multiple of 8, the arrays.

const MIN_MAP_SIZE = 0.1; // of a single label, so that it has surroundings
const ARRAY_TYPES = { float32: Float32Array, uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array };

async function readPart(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headerLength)));
  const start = Math.ceil((4 + headerLength) / 8) * 8;
  const arrays = {};
  for (const section of header.sections) {
    const from = start + section.offset;
    let content = bytes.subarray(from, from + section.bytes);
    if (section.is_compressed) content = await inflate(content);
    arrays[section.name] = asTyped(content, section.type);
  }
  return { ...header, arrays };
}

async function inflate(content) {
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A view where the bytes are aligned, a copy otherwise.
function asTyped(content, type) {
  const Typed = ARRAY_TYPES[type];
  const width = Typed.BYTES_PER_ELEMENT;
  if (content.byteOffset % width === 0) return new Typed(content.buffer, content.byteOffset, content.byteLength / width);
  return new Typed(content.slice().buffer);
}

function bytesFromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes;
}

// The labels of a map: positions, frequencies, ids, and what follows from them.
class Labels {
  constructor(part) {
    this.positions = part.arrays.positions;
    this.sizes = part.arrays.sizes;
    this.ids = part.arrays.ids || null; // ascending; without them a label's id is its place
    this.count = this.sizes.length;
    this.order = null; // from the least to the most important
    this.shares = new Uint8Array(this.count); // size on a logarithmic scale, 0 to 255
    this.bounds = this.findBounds();
    this.rank();
  }

  findBounds() {
    let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let at = 0; at < this.count; at++) {
      const x = this.positions[2 * at];
      const y = this.positions[2 * at + 1];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < bottom) bottom = y;
      if (y > top) top = y;
    }
    if (!this.count) return [-1, -1, 1, 1];
    const [across, up] = [right - left, top - bottom].map((length) => Math.max(0, MIN_MAP_SIZE - length) / 2);
    return [left - across, bottom - up, right + across, top + up];
  }

  // Sort by the logarithm of the size in one pass: the order decides what lies on top, so buckets are exact enough.
  rank() {
    let largest = 1;
    for (let at = 0; at < this.count; at++) if (this.sizes[at] > largest) largest = this.sizes[at];
    const unit = 255 / Math.log1p(largest);
    const starts = new Uint32Array(257);
    for (let at = 0; at < this.count; at++) {
      this.shares[at] = Math.round(Math.log1p(this.sizes[at]) * unit);
      starts[this.shares[at] + 1]++;
    }
    for (let bucket = 0; bucket < 256; bucket++) starts[bucket + 1] += starts[bucket];
    this.order = new Uint32Array(this.count);
    for (let at = 0; at < this.count; at++) this.order[starts[this.shares[at]]++] = at;
  }

  idOf(place) {
    return this.ids ? this.ids[place] : place;
  }

  // Return the place of a label id, or -1.
  placeOf(id) {
    if (!this.ids) return Number.isInteger(id) && id >= 0 && id < this.count ? id : -1;
    let low = 0;
    let high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.ids[middle] === id) return middle;
      if (this.ids[middle] < id) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  placesOf(ids) {
    return ids.map((id) => this.placeOf(id)).filter((place) => place >= 0);
  }
}
