// Pointer, wheel, touch and keys: each becomes one verb of the map.

const CLICK_PIXELS = 4;
const HOVER_PIXELS = 9;
const KEY_STEP_PIXELS = 60;

class Input {
  constructor(map, root) {
    this.map = map;
    this.root = root;
    this.pointers = new Map(); // two of them pinch
    this.drag = null;
    this.signal = new AbortController();
    const listen = (name, act, options = {}) => root.addEventListener(name, act, { signal: this.signal.signal, ...options });
    listen("pointerdown", (event) => this.press(event));
    listen("pointermove", (event) => this.move(event));
    listen("pointerup", (event) => this.release(event));
    listen("pointercancel", (event) => this.release(event, true));
    listen("pointerleave", () => this.map.hover(-1, -1));
    listen("wheel", (event) => this.turnWheel(event), { passive: false });
    listen("keydown", (event) => this.pressKey(event));
    listen("keyup", (event) => (this.isSpaceDown = event.key === " " ? false : this.isSpaceDown));
    listen("contextmenu", (event) => this.isOnMap(event) && event.preventDefault());
    listen("dblclick", (event) => this.isOnMap(event) && this.map.zoomBy(2, ...this.place(event)));
    listen("focus", () => map.requestFrame());
    listen("blur", () => map.requestFrame());
  }

  place(event) {
    const { left, top } = this.map.corner;
    return [event.clientX - left, event.clientY - top];
  }

  isOnMap(event) {
    return !event.target.closest(".xc-map-tools, .xc-map-search, .xc-map-legend");
  }

  press(event) {
    if (!this.isOnMap(event)) return;
    const at = this.place(event);
    this.pointers.set(event.pointerId, at);
    this.root.setPointerCapture(event.pointerId);
    this.root.focus({ preventScroll: true });
    this.hasKeyboard = false;
    const isPan = this.map.tool === "move" || event.button > 0 || this.isSpaceDown || event.altKey;
    const tool = isPan ? "move" : event.shiftKey ? "box" : this.map.tool;
    this.drag = { tool, from: at, last: at, path: [at], isFar: false };
    if (this.pointers.size === 2) this.drag = { tool: "pinch", isFar: true };
    event.preventDefault();
  }

  move(event) {
    const at = this.place(event);
    if (!this.pointers.has(event.pointerId)) {
      if (this.isOnMap(event)) this.map.hover(...at);
      else this.map.hover(-1, -1);
      return;
    }
    const before = this.pointers.get(event.pointerId);
    if (this.drag?.tool === "pinch") this.pinch(event.pointerId, at);
    this.pointers.set(event.pointerId, at);
    const { drag } = this;
    if (!drag || drag.tool === "pinch") return;
    if (Math.hypot(at[0] - drag.from[0], at[1] - drag.from[1]) > CLICK_PIXELS) drag.isFar = true;
    if (!drag.isFar) return;
    this.map.hover(-1, -1);
    if (drag.tool === "move") this.map.moveByPixels(at[0] - before[0], at[1] - before[1]);
    else if (drag.tool === "box") this.map.drawPath(makeBox(drag.from, at));
    else {
      const last = drag.path.at(-1);
      if (Math.hypot(at[0] - last[0], at[1] - last[1]) >= 2) drag.path.push(at);
      this.map.drawPath(drag.path);
    }
  }

  pinch(moved, at) {
    const before = [...this.pointers.values()];
    const after = [...this.pointers].map(([id, place]) => (id === moved ? at : place));
    const middle = ([a, b]) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    const width = ([a, b]) => Math.max(10, Math.hypot(a[0] - b[0], a[1] - b[1]));
    const [from, to] = [middle(before), middle(after)];
    this.map.moveByPixels(to[0] - from[0], to[1] - from[1]);
    this.map.zoomAt(...to, width(after) / width(before));
  }

  release(event, isCancelled = false) {
    if (!this.pointers.delete(event.pointerId)) return;
    const { drag } = this;
    if (this.pointers.size === 0) this.drag = null;
    if (!drag || drag.tool === "pinch" || isCancelled) return this.map.drawPath(null);
    const at = this.place(event);
    if (!drag.isFar) return event.button === 0 && this.map.click(...at);
    if (drag.tool === "box") this.map.finishPath(makeBox(drag.from, at));
    else if (drag.tool === "lasso") this.map.finishPath(drag.path);
  }

  turnWheel(event) {
    if (!this.isOnMap(event)) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1);
    this.map.zoomAt(...this.place(event), Math.exp(-Math.max(-240, Math.min(240, pixels)) * (event.ctrlKey ? 0.01 : 0.0022)));
  }

  pressKey(event) {
    if (event.ctrlKey || event.metaKey || event.target !== this.root) return;
    const step = KEY_STEP_PIXELS * (event.shiftKey ? 3 : 1);
    const acts = {
      ArrowLeft: () => this.map.moveByPixels(step, 0),
      ArrowRight: () => this.map.moveByPixels(-step, 0),
      ArrowUp: () => this.map.moveByPixels(0, step),
      ArrowDown: () => this.map.moveByPixels(0, -step),
      "+": () => this.map.zoomBy(1.6),
      "=": () => this.map.zoomBy(1.6),
      "-": () => this.map.zoomBy(1 / 1.6),
      "−": () => this.map.zoomBy(1 / 1.6),
      0: () => this.map.showAll(),
      Enter: () => this.map.chooseCentre(),
      Escape: () => this.escape(),
      "/": () => this.map.controls.search?.focus(),
      " ": () => (this.isSpaceDown = true),
    };
    if (!acts[event.key]) return;
    this.hasKeyboard = true;
    event.preventDefault();
    event.stopPropagation(); // the page around has keys of its own
    acts[event.key]();
    this.map.nameCentre();
  }

  // Esc ends a drag that is under way; otherwise it clears the selection.
  escape() {
    if (this.drag) {
      this.drag = null;
      this.map.drawPath(null);
    } else this.map.clear();
  }

  dispose() {
    this.signal.abort();
  }
}

function makeBox([fromX, fromY], [toX, toY]) {
  return [[fromX, fromY], [toX, fromY], [toX, toY], [fromX, toY]];
}
