// Points without WebGL: a plain canvas with at most 50,000 labels; of more, a sample over all frequencies.

const MAX_CANVAS_LABELS = 50000;
const MAX_MOVING_LABELS = 5000; // of more, a picture moves

class CanvasPoints {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.picture = null; // what was drawn last, for moving
  }

  get drawnCount() {
    return this.places ? this.places.length : 0;
  }

  // Every k-th label in the order of frequency; the most frequent one is always among them.
  setLabels(labels) {
    this.labels = labels;
    const kept = Math.min(labels.count, MAX_CANVAS_LABELS);
    this.places = Uint32Array.from({ length: kept }, (_, slot) => labels.order[Math.floor(((slot + 1) * labels.count) / kept) - 1]);
  }

  setColours(codes, palette) {
    this.codes = codes;
    this.palette = palette;
    this.picture = null;
  }

  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.picture = null;
  }

  draw(camera, style, isMoving) {
    if (!this.places || !this.codes) return false;
    const wanted = [camera.x, camera.y, camera.zoom, style.radius, style.alpha].join();
    const isOutdated = this.picture?.wanted !== wanted;
    const isKept = isMoving && this.picture && this.places.length > MAX_MOVING_LABELS;
    if (isOutdated && !isKept) this.drawPicture(camera, style, wanted);
    const { context } = this;
    const { canvas, view } = this.picture;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    context.globalAlpha = style.dim;
    const ratio = camera.scale / view.scale;
    const left = camera.toScreenX(view.x) - (camera.width / 2) * ratio;
    const top = camera.toScreenY(view.y) - (camera.height / 2) * ratio;
    context.drawImage(canvas, left, top, camera.width * ratio, camera.height * ratio);
    return !isOutdated || !isKept;
  }

  drawPicture(camera, style, wanted) {
    const canvas = document.createElement("canvas");
    canvas.width = this.canvas.width;
    canvas.height = this.canvas.height;
    const context = canvas.getContext("2d");
    context.scale(this.ratio, this.ratio);
    context.globalAlpha = style.alpha;
    const { positions, shares } = this.labels;
    let shown = -1;
    for (const place of this.places) {
      const x = camera.toScreenX(positions[2 * place]);
      const y = camera.toScreenY(positions[2 * place + 1]);
      if (x < -9 || y < -9 || x > camera.width + 9 || y > camera.height + 9) continue;
      const at = 4 * this.codes[place];
      if (this.codes[place] !== shown) {
        shown = this.codes[place];
        context.fillStyle = `rgb(${this.palette[at]},${this.palette[at + 1]},${this.palette[at + 2]})`;
      }
      const radius = radiusOf(shares[place], this.palette[at + 3] / 128, style);
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    }
    this.picture = { canvas, wanted, view: { x: camera.x, y: camera.y, scale: camera.scale } };
  }

  dispose() {
    this.picture = null;
  }
}
