// The camera: which part of the map is seen, and how a place on the map becomes a pixel.
// The map has y upwards and equal scales; pixels are CSS pixels from the top left corner of the component.

const MAP_MARGIN_PIXELS = 26;
const LEGEND_ROOM_PIXELS = 28;
const MIN_ZOOM = 0.4;
const MAX_ZOOM = 4000;

class Camera {
  constructor() {
    this.x = 0;
    this.y = 0;
    this.zoom = 1;
    this.width = 1;
    this.height = 1;
    this.bounds = [-1, -1, 1, 1];
  }

  resize(width, height) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
  }

  setBounds(bounds) {
    this.bounds = bounds;
    this.showAll();
  }

  showAll() {
    Object.assign(this, this.wholeView);
  }

  get wholeView() {
    const [left, bottom, right, top] = this.bounds;
    return { x: (left + right) / 2, y: (bottom + top) / 2 - LEGEND_ROOM_PIXELS / 2 / this.fittingScale, zoom: 1 };
  }

  // Pixels per unit of the map at zoom 1.
  get fittingScale() {
    const [left, bottom, right, top] = this.bounds;
    const across = (this.width - 2 * MAP_MARGIN_PIXELS) / Math.max(1e-6, right - left);
    const down = (this.height - 2 * MAP_MARGIN_PIXELS - LEGEND_ROOM_PIXELS) / Math.max(1e-6, top - bottom);
    return Math.max(1, Math.min(across, down));
  }

  get scale() {
    return this.fittingScale * this.zoom;
  }

  // Square pixels that the whole map covers.
  get mapArea() {
    const [left, bottom, right, top] = this.bounds;
    return Math.max(1, (right - left) * (top - bottom) * this.scale * this.scale);
  }

  toScreenX(x) {
    return (x - this.x) * this.scale + this.width / 2;
  }

  toScreenY(y) {
    return this.height / 2 - (y - this.y) * this.scale;
  }

  toMap(screenX, screenY) {
    const scale = this.scale;
    return [(screenX - this.width / 2) / scale + this.x, (this.height / 2 - screenY) / scale + this.y];
  }

  // The seen part of the map: [left, bottom, right, top].
  get seen() {
    const [left, top] = this.toMap(0, 0);
    const [right, bottom] = this.toMap(this.width, this.height);
    return [left, bottom, right, top];
  }

  moveByPixels(across, down) {
    this.x -= across / this.scale;
    this.y += down / this.scale;
    this.keepNear();
  }

  // Zoom so that the place below the pixel stays where it is.
  zoomAt(screenX, screenY, factor) {
    const [x, y] = this.toMap(screenX, screenY);
    this.zoom = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, this.zoom * factor));
    const [newX, newY] = this.toMap(screenX, screenY);
    this.x += x - newX;
    this.y += y - newY;
    this.keepNear();
  }

  // The map cannot be lost: the centre stays within its bounds.
  keepNear() {
    const [left, bottom, right, top] = this.bounds;
    this.x = Math.min(right, Math.max(left, this.x));
    this.y = Math.min(top, Math.max(bottom, this.y));
  }

  get view() {
    return { x: this.x, y: this.y, zoom: this.zoom };
  }
}
