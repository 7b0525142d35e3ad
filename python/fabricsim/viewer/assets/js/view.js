// The picture: a panel for each run, in one canvas.

import { Color, DataTexture, Scene, Vector2, WebGLRenderer } from "three";
import { SharedCamera } from "viewer/camera.js";
import { LinkMesh } from "viewer/links.js";
import { nodePoints } from "viewer/nodes.js";
import { IDLE, table } from "viewer/palettes.js";

const MOST_SMOOTH = 60000; // pieces of lines up to which edges are smoothed
const FEW_NODES = 400; // up to which all nodes are large enough to be seen
const FRAME = 1000 / 30; // ms that a frame may take while the network moves
const REST = 200; // ms without motion after which everything is drawn, more where a frame takes long
const FEWEST = 3000; // pieces that every frame has
const MANY = 20000; // pieces from which the time of a frame is measured before the first motion

// While the network moves and frames take too long, only the busiest links are drawn, and all of them as soon as it rests.
export class View {
  #waiting = false;
  #isDragged = false;
  #drawn = 0;
  #took = 0; // ms of the last frame
  #timer = 0;

  constructor(element, canvas, runs) {
    this.element = element;
    this.runs = runs;
    this.onDraw = () => {};
    const few = runs.reduce((sum, run) => sum + run.linkCount, 0) <= MOST_SMOOTH;
    this.renderer = new WebGLRenderer({ canvas, antialias: few });
    this.renderer.setClearColor(0xffffff);
    this.renderer.autoClear = false;
    this.uniforms = {
      palette: { value: null }, idle: { value: new Color().setStyle(IDLE, "srgb-linear") },
      largest: { value: 1 }, least: { value: 0 },
      thick: { value: 2 }, size: { value: new Vector2(1, 1) }, withHosts: { value: true }, withIdle: { value: true },
      switchSize: { value: 6 }, hostSize: { value: 4 }, reference: { value: 0 },
    };
    this.panels = runs.map((run) => {
      const [scene, links] = [new Scene(), new LinkMesh(run, this.uniforms)];
      const nodes = nodePoints(run, this.uniforms);
      scene.add(links.wide, links.thin, nodes);
      return { run, scene, links, nodes, values: new Float32Array(run.linkCount), left: 0, top: 0, width: 1, height: 1 };
    });
    this.pieces = Math.max(...this.panels.map(({ links }) => links.link.length));
    this.most = this.pieces; // that a frame has while the network moves
    this.camera = new SharedCamera(element, runs, () => this.#move());
    new ResizeObserver(() => this.#resize(true)).observe(element);
    this.isMoving = false;
    this.camera.controls.addEventListener("start", () => { this.#isDragged = true; });
    this.camera.controls.addEventListener("end", () => { this.#isDragged = false; this.#rest(); });
    this.#resize(false);
  }

  setPalette(name) {
    this.uniforms.palette.value?.dispose();
    this.uniforms.palette.value = new DataTexture(table(name), 256, 1);
    this.uniforms.palette.value.needsUpdate = true;
    this.invalidate();
  }

  // Colours each run's links by a quantity at a time (null: the measurement), on one scale.
  setValues(key, time, largest) {
    this.uniforms.largest.value = largest;
    for (const panel of this.panels) {
      panel.values = panel.run.values(key, time);
      panel.links.show(panel.values);
    }
    this.invalidate();
  }

  // `least`: value from which links are drawn.
  setShown(withHosts, withIdle, least) {
    this.uniforms.least.value = least;
    this.uniforms.withHosts.value = withHosts;
    this.uniforms.withIdle.value = withIdle;
    this.invalidate();
  }

  // Panels beside each other, or below on narrow screens.
  #resize(drawNow) {
    const [width, height] = [Math.max(this.element.clientWidth, 1), Math.max(this.element.clientHeight, 1)];
    const count = this.panels.length;
    const across = count <= 2 ? (width >= height ? count : 1) : 2;
    const down = Math.ceil(count / across);
    this.renderer.setPixelRatio(window.devicePixelRatio);
    this.renderer.setSize(width, height, false);
    this.panels.forEach((panel, number) => Object.assign(panel, {
      left: ((number % across) * width) / across, top: (Math.floor(number / across) * height) / down,
      width: width / across, height: height / down,
    }));
    this.camera.resize(width / across, height / down);
    // A new size empties the canvas: a later draw would show that.
    if (drawNow) this.draw(); else this.invalidate();
  }

  // Draws once in the next frame.
  invalidate() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.draw();
    });
  }

  // The camera has moved.
  #move() {
    this.isMoving = true;
    this.#rest();
    this.invalidate();
  }

  // Draws everything when there was no motion for a while.
  #rest() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#isDragged) return;
      this.isMoving = false;
      this.invalidate();
    }, Math.max(REST, Math.min(3 * this.#took, 10 * REST)));
  }

  // Measures a frame of all links, and from it how many a frame of a moving network may have.
  calibrate() {
    if (this.pieces < MANY) return;
    const took = this.frameTime(1);
    this.most = Math.round(Math.max(FEWEST, this.pieces * Math.min(1, (0.7 * FRAME) / took)));
  }

  // Adapts the number of pieces in a frame to the time since the last one, while the network moves.
  #adapt() {
    const now = performance.now();
    const took = now - this.#drawn;
    this.#drawn = now;
    if (!this.isMoving || took > 10 * REST) return;
    this.#took = took;
    if (took > 1.2 * FRAME) this.most = Math.max(FEWEST, Math.min(this.most, this.pieces) * Math.max(0.3, FRAME / took));
    else if (took < 0.6 * FRAME) this.most = Math.min(this.pieces, 1.2 * this.most);
    this.most = Math.round(this.most);
  }

  draw() {
    this.#adapt();
    const height = this.element.clientHeight;
    this.renderer.setScissorTest(false);
    this.renderer.clear();
    this.renderer.setScissorTest(true);
    for (const panel of this.panels) {
      this.#scale(panel);
      const box = [panel.left, height - panel.top - panel.height, panel.width, panel.height];
      this.renderer.setViewport(...box);
      this.renderer.setScissor(...box);
      this.renderer.render(panel.scene, this.camera.camera);
    }
    this.onDraw();
  }

  // Widths and sizes in pixels for a panel: in proportion to a step of the topology, within bounds.
  #scale(panel) {
    const ratio = this.renderer.getPixelRatio();
    const step = this.camera.scale() * panel.run.step;
    const within = (value, low, high) => Math.min(Math.max(value, low), high);
    panel.thick = within(0.05 * step, 0.8, 5);
    this.uniforms.size.value.set(panel.width * ratio, panel.height * ratio);
    this.uniforms.thick.value = panel.thick * ratio;
    this.uniforms.reference.value = this.camera.distance();
    const most = this.isMoving ? this.most : this.pieces;
    panel.links.choose(panel.thick * ratio, most);
    panel.nodes.visible = most >= this.pieces / 2;
    const crowded = within(step / 40, 0.4, 1);
    const few = panel.run.names.length <= FEW_NODES;
    this.uniforms.switchSize.value = within(0.2 * step * crowded, few ? 6 : 1, 22) * ratio;
    const host = within(0.11 * step * crowded, few ? 3.5 : 0, 13);
    this.uniforms.hostSize.value = host < 1.2 ? 0 : host * ratio;
    panel.hostSize = this.uniforms.hostSize.value / ratio;
    panel.switchSize = this.uniforms.switchSize.value / ratio;
  }

  // A function from places in space to pixels of the element, and the depth, for a panel; null behind the camera.
  projection(panel) {
    const { camera } = this.camera;
    camera.updateMatrixWorld();
    const m = camera.projectionMatrix.clone().multiply(camera.matrixWorldInverse).elements;
    return ([x, y, z]) => {
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      if (w < 0.001) return null;
      const across = (m[0] * x + m[4] * y + m[8] * z + m[12]) / w;
      const up = (m[1] * x + m[5] * y + m[9] * z + m[13]) / w;
      return [panel.left + ((across + 1) / 2) * panel.width, panel.top + ((1 - up) / 2) * panel.height, w];
    };
  }

  // The panel at pixels of the element.
  panelAt(x, y) {
    return this.panels.findIndex((p) => x >= p.left && x < p.left + p.width && y >= p.top && y < p.top + p.height);
  }

  // Median time in ms of the script of a frame, without the graphics: nothing is drawn. `act` runs before each frame.
  scriptTime(act = () => {}, moving = true, frames = 60) {
    const gl = this.renderer.getContext();
    const drawing = { drawElements: gl.drawElements, drawArrays: gl.drawArrays };
    for (const name of Object.keys(drawing)) gl[name] = () => {};
    const took = Array.from({ length: frames }, (_, i) => {
      const begin = performance.now();
      act(i);
      this.isMoving = moving;
      this.draw();
      return performance.now() - begin;
    });
    Object.assign(gl, drawing);
    this.isMoving = false;
    this.invalidate();
    return took.sort((a, b) => a - b)[frames >> 1];
  }

  // Mean time of a frame in ms, each finished by the graphics: with all links, or with those that a moving network has.
  frameTime(frames = 60, moving = false) {
    const gl = this.renderer.getContext();
    const pixel = new Uint8Array(4);
    const once = (i) => {
      if (moving) this.camera.turn(i % 2 ? 0.02 : -0.02, 0);
      this.isMoving = moving;
      this.draw();
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); // waits for the frame
    };
    for (let i = 0; i < (moving ? 20 : 1); i += 1) once(i);
    const begin = performance.now();
    for (let i = 0; i < frames; i += 1) once(i);
    const took = (performance.now() - begin) / frames;
    this.isMoving = false;
    this.invalidate();
    return took;
  }
}
