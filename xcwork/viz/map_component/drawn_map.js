// The map as it is drawn: its data, its state, the camera, and when a frame is due.

const REST_MILLISECONDS = 140;
const MAX_REST_MILLISECONDS = 900;
const MAX_OUTLINED = 5000;

class DrawnMap {
  constructor(parent) {
    this.root = makeElement(parent, "div", "xc-map", "", { tabindex: "0", role: "application", "aria-roledescription": "map" });
    this.root.xcmap = this;
    this.back = makeElement(this.root, "canvas", "xc-map-canvas", "", { "aria-hidden": "true" });
    this.middle = makeElement(this.root, "canvas", "xc-map-canvas xc-map-points", "", { "aria-hidden": "true" });
    this.front = makeElement(this.root, "canvas", "xc-map-canvas", "", { "aria-hidden": "true" });
    this.camera = new Camera();
    this.takeFont(parent);
    this.points = WebglPoints.start(this.middle);
    this.isPlain = !this.points;
    if (this.isPlain) {
      const canvas = this.middle.cloneNode(); // one that failed with WebGL can have no other context
      this.middle.replaceWith(canvas);
      this.middle = canvas;
      this.points = new CanvasPoints(canvas);
    }
    this.regionNames = new RegionNames(this, this.root);
    this.controls = new Controls(this, this.root);
    Object.assign(this, { tool: "lasso", layers: [], hasGrid: false, isMoving: false, lastMove: null });
    this.forget();
    this.middle.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.middle.addEventListener("webglcontextrestored", () => this.restorePoints());
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(this.root);
    this.darkness = matchMedia("(prefers-color-scheme: dark)");
    this.followTheme = () => this.applyTheme();
    this.darkness.addEventListener("change", this.followTheme);
    this.times = { mounted: performance.now() }; // milliseconds since the page was opened
  }

  // The map is written in the font of the page around; a font that is still on its way is used when it is there.
  takeFont(parent) {
    const style = getComputedStyle(parent);
    const family = style.fontFamily;
    const scale = Number(style.getPropertyValue("--xc-scale")) || 1; // of a page with larger type
    this.fonts = { family, plain: `${13 * scale}px ${family}`, bold: `600 ${14 * scale}px ${family}` };
    document.fonts.ready.then(() => {
      this.regionNames.widths.clear();
      this.requestFrame();
    });
  }

  // --- data

  setPoints(part) {
    this.data = part;
    this.labels = new Labels(part);
    this.grid = new PointGrid(this.labels);
    this.regionNames.setRegions(part.regions);
    this.points.setLabels(this.labels);
    this.forget();
    this.root.dataset.labels = part.n_labels;
    this.root.setAttribute("aria-label", part.caption);
    this.resize();
    this.camera.setBounds(this.labels.bounds);
    const sampled = this.points.drawnCount < this.labels.count;
    const shown = this.points.drawnCount.toLocaleString("en");
    this.controls.showNote(sampled ? `Without WebGL: a sample of ${shown} of ${this.labels.count.toLocaleString("en")} labels is drawn.` : "");
  }

  // Drop all that belongs to other labels.
  forget() {
    this.received = {}; // fields of the state as they came last, so that only changes are applied
    Object.assign(this, { names: null, colours: null, codes: null, palette: null, hulls: [], edges: [], lines: null });
    Object.assign(this, { label: -1, region: -1, hovered: -1, lasso: null, path: null });
    Object.assign(this, { selection: [], outline: [], inLasso: [], highlight: [], links: [], named: [], written: [], hullNames: [] });
    for (const name of ["ready", "drawn", "still"]) delete this.root.dataset[name];
  }

  // What can be drawn below the points; without a part there is nothing.
  setLayers(part) {
    this.hulls = part?.hulls ?? [];
    this.lines = part?.grid ?? null;
    this.edges = (part?.edges ?? []).map(({ name }, at) => ({ name, pairs: part.arrays[`edges_${at}`] }));
    this.requestFrame();
  }

  setNames(part) {
    this.names = new NameStore(part.arrays.names);
    this.requestFrame();
  }

  // Let the person choose between several layers; the dashboard has a control of its own and gives one.
  offerLayers(parts, chosen) {
    this.choices = parts;
    this.setColours(parts[chosen]);
  }

  setColours(part) {
    this.colours = part.layer;
    this.codes = part.arrays.codes;
    this.applyTheme(true);
  }

  restorePoints() {
    this.points = WebglPoints.start(this.middle);
    this.points.setLabels(this.labels);
    this.resize();
    this.applyTheme(true);
  }

  applyTheme(isForced = false) {
    if (!this.themes) return;
    const name = detectTheme(this.root.parentElement);
    if (this.theme?.name === name && !isForced) return;
    this.theme = { ...this.themes[name], name };
    for (const element of [this.root, this.controls.searchBox].filter(Boolean)) {
      for (const [token, colour] of Object.entries(this.themes[name])) element.style.setProperty(`--xc-${token}`, colour);
      element.style.setProperty("--xc-font", this.fonts.family);
    }
    if (this.colours && this.codes) {
      this.palette = makePalette(this.colours, name);
      this.points.setColours(this.codes, this.palette);
      this.controls.showLegend(this.colours, this.theme, this.choices || []);
    }
    this.requestFrame();
  }

  update(state) {
    this.themes = state.themes;
    this.root.style.height = state.height;
    if (state.search) this.controls.addSearch(state.search === "above");
    applyState(this, state);
    this.applyTheme();
    this.requestFrame();
  }

  setTool(tool) {
    this.tool = tool;
    this.root.dataset.tool = tool;
    this.controls.showTool(tool);
  }

  showSelection(places) {
    this.selection = places;
    this.outline = findHull(places, this.labels.positions);
  }

  showLasso(polygon) {
    this.lasso = polygon;
    const found = polygon ? this.grid.findInside(polygon, MAX_OUTLINED + 1) : { places: [], count: 0 };
    this.inLasso = found.count > MAX_OUTLINED ? [] : found.places;
    return found.count;
  }

  // --- what others may ask

  // Where a label is on the screen, in pixels of the window; null without a place.
  at(label) {
    const place = this.labels ? this.labels.placeOf(label) : -1;
    if (place < 0) return null;
    const { left, top } = this.corner;
    const { positions } = this.labels;
    return { x: left + this.camera.toScreenX(positions[2 * place]), y: top + this.camera.toScreenY(positions[2 * place + 1]) };
  }

  // Where the drawing begins in the window, inside the border.
  get corner() {
    const box = this.root.getBoundingClientRect();
    return { left: box.left + this.root.clientLeft, top: box.top + this.root.clientTop };
  }

  // The names that are written now, with their boxes in pixels of the component.
  get shownNames() {
    return { labels: this.written, regions: this.regionNames.boxes, hulls: this.hullNames };
  }

  colourOf(place) {
    if (!this.palette) return this.theme.primary;
    const at = 4 * this.codes[place];
    return `rgb(${this.palette[at]}, ${this.palette[at + 1]}, ${this.palette[at + 2]})`;
  }

  // --- moving

  moveByPixels(across, down) {
    this.stopFlight();
    this.camera.moveByPixels(across, down);
    this.noteMove();
  }

  zoomAt(x, y, factor) {
    this.stopFlight();
    this.camera.zoomAt(x, y, factor);
    this.noteMove();
  }

  zoomBy(factor, x = this.camera.width / 2, y = this.camera.height / 2) {
    this.zoomAt(x, y, factor);
  }

  showAll() {
    this.flyTo(this.camera.wholeView);
  }

  flyToPlace(place) {
    this.flyTo(viewAround(place, this.labels, this.grid, this.camera));
  }

  flyTo(target) {
    this.flight = new Flight(this.camera.view, target);
    this.root.dataset.still = "false";
    this.requestFrame();
  }

  stopFlight() {
    this.flight = null;
  }

  noteMove() {
    const now = performance.now();
    // Where frames are slow, the next move comes late: wait for three frames before it counts as rest.
    const pause = Math.min(MAX_REST_MILLISECONDS, Math.max(REST_MILLISECONDS, 3 * (now - (this.lastMove ?? now))));
    this.lastMove = now;
    this.isMoving = true;
    this.root.dataset.still = "false";
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => this.rest(), pause);
    this.requestFrame();
  }

  rest() {
    this.isMoving = false;
    this.lastMove = null;
    this.requestFrame();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!width || !height) return;
    const isWhole = this.camera.zoom === 1;
    this.camera.resize(width, height);
    if (isWhole) this.camera.showAll();
    this.setRatio(Math.min(3, window.devicePixelRatio || 1));
    this.requestFrame();
  }

  // Pixels of the canvases per pixel of the page.
  setRatio(ratio) {
    const { width, height } = this.camera;
    this.ratio = ratio;
    for (const canvas of [this.back, this.front]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.points.resize(width, height, ratio);
  }

  // --- drawing

  requestFrame() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    if (!this.labels || !this.palette || !this.camera.width || !this.root.clientWidth) return;
    if (this.flight) {
      if (this.flight.move(this.camera)) this.flight = null;
      this.noteMove();
    }
    const { isMoving } = this;
    const isComplete = this.drawScene(isMoving);
    if (isMoving) return;
    if (!isComplete) return this.requestFrame();
    this.root.dataset.drawn = this.points.drawnCount;
    this.root.dataset.still = "true";
    if (!this.names) return;
    this.times.ready ??= performance.now();
    this.root.dataset.ready = "true";
  }

  // Draw everything from back to front; return whether all points are drawn as the camera sees them now.
  drawScene(isMoving) {
    const style = { ...choosePointStyle(this.points.drawnCount, this.camera), dim: this.highlight.length ? 0.25 : 1 };
    drawBack(this, isMoving);
    const isComplete = this.points.draw(this.camera, style, isMoving);
    drawFront(this, style, isMoving);
    return isComplete;
  }

  dispose() {
    this.watcher.disconnect();
    this.darkness.removeEventListener("change", this.followTheme);
    clearTimeout(this.restTimer);
    if (this.frame) cancelAnimationFrame(this.frame);
    this.points.dispose();
    this.root.remove();
  }
}
