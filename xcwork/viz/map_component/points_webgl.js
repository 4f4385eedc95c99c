// Points in WebGL2: all labels in one draw call, the rarest first, so that frequent ones lie on top.
// Where one drawing takes longer than a frame (a million labels, or no graphics card), the points are drawn into a
// picture with a margin around what is seen, in steps of about a frame each. While the map moves, the last picture of all
// labels moves with it, above the density of all labels; a new one is drawn as soon as the map rests.

const POINT_VERTEX = `#version 300 es
in vec2 position; in float share; in uint code;
uniform vec2 centre; uniform vec2 scale; uniform float radius; uniform float ratio; uniform float side; uniform bool only_small;
uniform highp sampler2D palette;
out float r; out vec3 colour;
void main() {
  vec4 entry = texelFetch(palette, ivec2(int(code) & 255, int(code) >> 8), 0);
  float size = entry.a * 255.0 / 128.0;
  bool is_small = size < 0.99;
  r = radius * (0.78 + 1.1 * share) * size * ratio;
  colour = entry.rgb;
  gl_PointSize = 2.0 * r + 1.5;
  gl_Position = vec4((position - centre) * scale, 0.0, 1.0);
  if (side != 0.0 && is_small != only_small) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;
const POINT_FRAGMENT = `#version 300 es
precision mediump float;
in float r; in vec3 colour; uniform float alpha; out vec4 pixel;
void main() {
  float away = length(gl_PointCoord - 0.5) * (2.0 * r + 1.5);
  pixel = vec4(colour, 1.0) * alpha * clamp(r + 0.5 - away, 0.0, 1.0);
}`;
const PICTURE_VERTEX = `#version 300 es
in vec2 corner; uniform vec4 box; out vec2 at;
void main() { at = corner; gl_Position = vec4(mix(box.xy, box.zw, corner), 0.0, 1.0); }`;
const PICTURE_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 at; uniform sampler2D picture; uniform float alpha; out vec4 pixel;
void main() { pixel = texture(picture, at) * alpha; }`;

const FAST_FRAME_MILLISECONDS = 14;
const LONG_FRAME_MILLISECONDS = 300; // more than any compiling takes
const STEP_MILLISECONDS = 30;
const MIN_LABELS_PER_STEP = 20000;
const PICTURE_MARGIN = 0.25; // of the width and height, on each side
const MAX_LABELS_IN_TWO_PASSES = 200000;

class WebglPoints {
  static start(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) return null;
    const points = new WebglPoints(canvas, gl);
    const programs = [points.pointProgram, points.pictureProgram];
    return programs.every(({ program }) => gl.getProgramParameter(program, gl.LINK_STATUS)) ? points : null;
  }

  constructor(canvas, gl) {
    this.canvas = canvas;
    this.gl = gl;
    this.isSlow = false;
    this.picture = null; // what is shown: {texture, frame, width, height, view, wanted}
    this.coming = null; // what is being drawn, with the steps that are left
    this.pointProgram = makeProgram(gl, POINT_VERTEX, POINT_FRAGMENT);
    this.pictureProgram = makeProgram(gl, PICTURE_VERTEX, PICTURE_FRAGMENT);
    this.palette = makeTexture(gl, gl.NEAREST);
    this.shading = makeTexture(gl, gl.LINEAR);
    this.corners = gl.createVertexArray();
    gl.bindVertexArray(this.corners);
    fillBuffer(gl, this.pictureProgram, "corner", new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), 2);
    this.points = gl.createVertexArray();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  get drawnCount() {
    return this.labels ? this.labels.count : 0;
  }

  setLabels(labels) {
    const { gl } = this;
    this.labels = labels;
    const positions = new Float32Array(2 * labels.count);
    const shares = new Uint8Array(labels.count);
    labels.order.forEach((place, slot) => {
      positions[2 * slot] = labels.positions[2 * place];
      positions[2 * slot + 1] = labels.positions[2 * place + 1];
      shares[slot] = labels.shares[place];
    });
    gl.bindVertexArray(this.points);
    this.buffers?.forEach((buffer) => gl.deleteBuffer(buffer));
    this.buffers = [
      fillBuffer(gl, this.pointProgram, "position", positions, 2),
      fillBuffer(gl, this.pointProgram, "share", shares, 1),
    ];
    this.isTimed = false;
  }

  setColours(codes, palette) {
    const { gl, labels } = this;
    const ordered = new codes.constructor(labels.count);
    labels.order.forEach((place, slot) => (ordered[slot] = codes[place]));
    gl.bindVertexArray(this.points);
    if (this.codeBuffer) gl.deleteBuffer(this.codeBuffer);
    this.codeBuffer = fillBuffer(gl, this.pointProgram, "code", ordered, 1);
    const rows = Math.ceil(palette.length / 4 / 256);
    const filled = new Uint8Array(rows * 256 * 4);
    filled.set(palette);
    fillTexture(gl, this.palette, 256, rows, filled);
    fillTexture(gl, this.shading, DENSITY_CELLS, DENSITY_CELLS, shadeDensity(labels, codes, palette));
    this.version = (this.version || 0) + 1; // a picture in other colours is outdated
    this.hasSmall = palette.some((value, at) => at % 4 === 3 && value < 126);
  }

  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.dropPictures();
  }

  dropPictures() {
    for (const picture of [this.picture, this.coming].filter(Boolean)) {
      this.gl.deleteTexture(picture.texture);
      this.gl.deleteFramebuffer(picture.frame);
    }
    this.picture = this.coming = null;
  }

  // Draw a frame; return whether all points are drawn as the camera sees them now.
  draw(camera, style, isMoving) {
    const { gl } = this;
    if (!this.labels || gl.isContextLost()) return false;
    const begun = performance.now();
    const isComplete = !this.isSlow || this.preparePicture(camera, style, isMoving);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (style.density > 0.01) this.drawBox(this.shading, placeBounds(this.labels.bounds, camera), style.density * 0.6 * style.dim);
    if (this.isSlow) this.drawBox(this.picture.texture, placeBounds(this.picture.view, camera), style.dim);
    else this.listSteps(Infinity).forEach((step) => this.drawPoints(camera, style, 1, style.dim, step));
    if (!this.isTimed) this.timeDrawing(begun);
    return isComplete && this.isTimed;
  }

  // The first drawing compiles; the second one is timed. Reading a pixel waits for the graphics to finish.
  timeDrawing(begun) {
    const { gl } = this;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    const needed = performance.now() - begun;
    this.isTimed = needed < FAST_FRAME_MILLISECONDS || needed > LONG_FRAME_MILLISECONDS || this.isWarm === true;
    this.isWarm = true;
    this.isSlow = this.isTimed && needed >= FAST_FRAME_MILLISECONDS;
    this.stepSize = Math.max(MIN_LABELS_PER_STEP, Math.round((this.labels.count * STEP_MILLISECONDS) / needed));
  }

  // Draw the next step of a picture for this view; return whether the picture that is shown is the one for this view.
  preparePicture(camera, style, isMoving) {
    const wanted = [camera.x, camera.y, camera.zoom, style.radius, style.alpha, this.version].join();
    if (this.picture?.wanted === wanted) return true;
    if (isMoving && this.picture) return false;
    if (this.coming?.wanted !== wanted) this.beginPicture(camera, wanted);
    do {
      this.drawInto(this.coming, () => this.drawPoints(camera, style, 1 + 2 * PICTURE_MARGIN, 1, this.coming.steps.shift()));
    } while (!this.picture && this.coming.steps.length); // without an older picture there is nothing else to show
    if (this.coming.steps.length) return false;
    [this.picture, this.coming] = [this.coming, this.picture];
    return true;
  }

  beginPicture(camera, wanted) {
    const { gl } = this;
    const largest = gl.getParameter(gl.MAX_TEXTURE_SIZE);
    const width = Math.min(largest, Math.round(this.canvas.width * (1 + 2 * PICTURE_MARGIN)));
    const height = Math.min(largest, Math.round(this.canvas.height * (1 + 2 * PICTURE_MARGIN)));
    const halfWidth = (camera.width / camera.scale) * (0.5 + PICTURE_MARGIN);
    const halfHeight = (camera.height / camera.scale) * (0.5 + PICTURE_MARGIN);
    this.coming ??= makePicture(gl, width, height);
    Object.assign(this.coming, { wanted, steps: this.listSteps(this.stepSize) });
    this.coming.view = [camera.x - halfWidth, camera.y - halfHeight, camera.x + halfWidth, camera.y + halfHeight];
    this.drawInto(this.coming, () => {
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
    });
  }

  drawInto(picture, act) {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, picture.frame);
    gl.viewport(0, 0, picture.width, picture.height);
    act();
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  // Ranges of points to draw one after the other; small points come first, below the others.
  listSteps(size) {
    const { count } = this.labels;
    const isSplit = this.hasSmall && count <= MAX_LABELS_IN_TWO_PASSES;
    const steps = [];
    for (const part of isSplit ? ["small", "large"] : ["all"]) {
      for (let first = 0; first < Math.max(1, count); first += size) steps.push({ part, first, count: Math.min(size, count - first) });
    }
    return steps;
  }

  drawPoints(camera, style, widening, dim, { part, first, count }) {
    const { gl, pointProgram: program } = this;
    gl.useProgram(program.program);
    gl.bindVertexArray(this.points);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.uniform2f(program.at("centre"), camera.x, camera.y);
    gl.uniform2f(
      program.at("scale"),
      (2 * camera.scale) / camera.width / widening,
      (2 * camera.scale) / camera.height / widening,
    );
    gl.uniform1f(program.at("radius"), style.radius);
    gl.uniform1f(program.at("ratio"), this.ratio);
    gl.uniform1f(program.at("alpha"), style.alpha * dim);
    gl.uniform1f(program.at("side"), part === "all" ? 0 : 1);
    gl.uniform1i(program.at("only_small"), part === "small" ? 1 : 0);
    gl.drawArrays(gl.POINTS, first, count);
  }

  drawBox(texture, box, alpha) {
    const { gl, pictureProgram: program } = this;
    gl.useProgram(program.program);
    gl.bindVertexArray(this.corners);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.uniform4f(program.at("box"), ...box);
    gl.uniform1f(program.at("alpha"), alpha);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  dispose() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

// Return where a rectangle of the map lies, in the coordinates of WebGL.
function placeBounds([left, bottom, right, top], camera) {
  const across = (x) => (2 * camera.toScreenX(x)) / camera.width - 1;
  const up = (y) => 1 - (2 * camera.toScreenY(y)) / camera.height;
  return [across(left), up(bottom), across(right), up(top)];
}

function makeProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  const places = new Map();
  const at = (name) => places.get(name) ?? places.set(name, gl.getUniformLocation(program, name)).get(name);
  return { program, at };
}

function fillBuffer(gl, { program }, name, values, width) {
  const buffer = gl.createBuffer();
  const slot = gl.getAttribLocation(program, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  gl.enableVertexAttribArray(slot);
  if (values instanceof Float32Array) gl.vertexAttribPointer(slot, width, gl.FLOAT, false, 0, 0);
  else if (name === "share") gl.vertexAttribPointer(slot, width, gl.UNSIGNED_BYTE, true, 0, 0);
  else gl.vertexAttribIPointer(slot, width, values.BYTES_PER_ELEMENT === 1 ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT, 0, 0);
  return buffer;
}

function makeTexture(gl, filter) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  return texture;
}

function fillTexture(gl, texture, width, height, pixels) {
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
}

function makePicture(gl, width, height) {
  const texture = makeTexture(gl, gl.LINEAR);
  fillTexture(gl, texture, width, height, null);
  const frame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  return { texture, frame, width, height };
}
