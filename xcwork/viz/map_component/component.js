// The map as a whole: what a person does on it, and what the page around is told.

class LabelMap extends DrawnMap {
  // `emit` is called with {kind: "label" | "region" | "lasso" | "clear", …} for everything that a person chooses.
  constructor(parent, emit) {
    super(parent);
    this.emit = emit;
    this.input = new Input(this, this.root);
  }

  hover(x, y) {
    if (!this.labels) return;
    const region = x < 0 ? -1 : this.regionNames.find(x, y);
    const place = x < 0 || region >= 0 ? -1 : this.findAt(x, y);
    this.root.style.cursor = place >= 0 || region >= 0 ? "pointer" : "";
    if (place === this.hovered) return;
    this.hovered = place;
    if (place < 0) this.controls.hideCard();
    else this.controls.showCard(x, y, this.names?.get(place) ?? "", this.describe(place));
    this.requestFrame();
  }

  findAt(x, y) {
    return this.grid.nearest(...this.camera.toMap(x, y), HOVER_PIXELS / this.camera.scale);
  }

  describe(place) {
    const size = this.labels.sizes[place];
    const facts = [`${size.toLocaleString("en")} training document${size === 1 ? "" : "s"}`];
    if (this.colours) facts.push(describeColour(this.colours, this.codes[place]));
    return facts;
  }

  click(x, y) {
    const region = this.regionNames.find(x, y);
    const place = this.findAt(x, y);
    if (region >= 0) this.chooseRegion(region);
    else if (place >= 0) this.chooseLabel(place, false);
  }

  chooseLabel(place, isFlight) {
    if (place !== this.label) this.links = [];
    this.label = place;
    this.controls.say([this.names?.get(place), ...this.describe(place)].join(", "));
    if (isFlight) this.flyToPlace(place);
    this.emit({ kind: "label", label: this.labels.idOf(place) });
    this.requestFrame();
  }

  chooseRegion(at) {
    this.region = at;
    this.controls.say(`Region ${describeRegion(this.data.regions[at])}`);
    this.emit({ kind: "region", region: at });
    this.requestFrame();
  }

  drawPath(path) {
    this.path = path;
    this.requestFrame();
  }

  finishPath(path) {
    this.path = null;
    const polygon = simplifyPath(path.map(([x, y]) => this.camera.toMap(x, y)), 0.7 / this.camera.scale);
    this.requestFrame();
    if (polygon.length < 3) return;
    const count = this.showLasso(polygon);
    this.controls.say(`${count.toLocaleString("en")} labels chosen`);
    this.emit({ kind: "lasso", polygon, n_labels: count });
  }

  clear() {
    Object.assign(this, { label: -1, region: -1, lasso: null, inLasso: [], selection: [], outline: [], links: [] });
    this.controls.say("Nothing is chosen");
    this.emit({ kind: "clear" });
    this.requestFrame();
  }

  // Keys work on the label nearest to the centre, which is named aloud.
  nameCentre() {
    const place = this.findAtCentre();
    if (place >= 0 && this.names) this.controls.say(this.names.get(place));
    this.requestFrame();
  }

  findAtCentre() {
    return this.grid.nearest(this.camera.x, this.camera.y, (4 * HOVER_PIXELS) / this.camera.scale);
  }

  chooseCentre() {
    const place = this.findAtCentre();
    if (place >= 0) this.chooseLabel(place, false);
  }

  dispose() {
    this.input.dispose();
    super.dispose();
  }
}
