// One camera for all runs: from above for networks in a plane, in perspective for those in space. Mouse and touch are the
// library's; keys call `turn`, `pan` and `zoom`.

import { MOUSE, OrbitControls, OrthographicCamera, PerspectiveCamera, Vector3 } from "three";

const ANGLE = 32; // of view, in degrees
const DIRECTION = [0.52, 0.38, 0.76]; // from which a network in space is seen first
const MARGIN = 1.12;
const NAME = 64; // pixels of a name beside a node at the edge

export class SharedCamera {
  constructor(element, runs, changed) {
    this.flat = runs.every((run) => run.flat);
    this.runs = runs;
    this.aspect = 1;
    this.height = 1;
    this.camera = this.flat ? new OrthographicCamera(-1, 1, 1, -1, 0.1, 10) : new PerspectiveCamera(ANGLE, 1, 0.01, 100);
    this.controls = new OrbitControls(this.camera, element);
    Object.assign(this.controls, {
      enableRotate: !this.flat, screenSpacePanning: true, zoomToCursor: runs.length === 1, enableDamping: false,
    });
    if (this.flat) this.controls.mouseButtons = { LEFT: MOUSE.PAN, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
    this.controls.addEventListener("change", changed);
    this.controls.addEventListener("start", () => { this.isOwn = true; });
    this.changed = changed;
    this.isOwn = false; // true once the view was moved: then another size of the window does not fit it anew
  }

  // Sets the size of a panel in pixels.
  resize(width, height) {
    this.aspect = width / Math.max(height, 1);
    this.height = height;
    if (this.flat) {
      this.camera.left = -this.aspect;
      this.camera.right = this.aspect;
    } else {
      this.camera.aspect = this.aspect;
    }
    this.camera.updateProjectionMatrix();
    if (!this.isOwn) this.fit();
  }

  // Shows everything, from the first direction.
  fit() {
    const half = [0, 1].map((axis) => Math.max(...this.runs.map((run) => run.extent[axis]), 0.05));
    this.controls.target.set(0, 0, 0);
    if (this.flat) {
      this.camera.position.set(0, 0, 5);
      // Names stand to the right of their nodes: they need room where the width limits, and not the height.
      const room = Math.max(this.aspect - (2 * NAME) / Math.max(this.height, 1), this.aspect / 2);
      this.camera.zoom = Math.min(1 / (MARGIN * Math.max(half[1], half[0] / this.aspect)), room / half[0]);
    } else {
      const tangent = Math.tan((ANGLE * Math.PI) / 360);
      const distance = 1 / (Math.sin(Math.atan(tangent * Math.min(this.aspect, 1))) * 1.02);
      this.camera.position.set(...DIRECTION).normalize().multiplyScalar(distance);
    }
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.isOwn = false;
    this.changed();
  }

  // Pixels of a length of 1 at the centre of the view.
  scale() {
    if (this.flat) return (this.height / 2) * this.camera.zoom;
    return this.height / (2 * Math.tan((ANGLE * Math.PI) / 360) * this.distance());
  }

  // Distance from the camera to the centre of the view; 0 for networks in a plane, where it changes nothing.
  distance() {
    return this.flat ? 0 : this.camera.position.distanceTo(this.controls.target);
  }

  // Turns by radians around the vertical, and up.
  turn(around, up) {
    if (this.flat) return;
    this.isOwn = true;
    const off = this.camera.position.clone().sub(this.controls.target);
    const radius = off.length();
    const polar = Math.min(Math.max(Math.acos(off.y / radius) - up, 0.05), Math.PI - 0.05);
    const angle = Math.atan2(off.x, off.z) + around;
    off.set(Math.sin(polar) * Math.sin(angle), Math.cos(polar), Math.sin(polar) * Math.cos(angle)).multiplyScalar(radius);
    this.camera.position.copy(this.controls.target).add(off);
    this.controls.update();
    this.changed();
  }

  // Moves the view by parts of its height.
  pan(right, up) {
    const high = this.height / this.scale();
    const [x, y] = [new Vector3(), new Vector3()];
    this.camera.matrix.extractBasis(x, y, new Vector3());
    this.move(x.multiplyScalar(right * high).add(y.multiplyScalar(up * high)));
  }

  // Moves camera and target.
  move(by) {
    this.isOwn = true;
    this.camera.position.add(by);
    this.controls.target.add(by);
    this.controls.update();
    this.changed();
  }

  // Brings a place to the centre of the view.
  centre(place) {
    this.move(new Vector3(...place).sub(this.controls.target));
  }

  zoom(factor) {
    this.isOwn = true;
    if (this.flat) this.camera.zoom *= factor;
    else this.camera.position.sub(this.controls.target).divideScalar(factor).add(this.controls.target);
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.changed();
  }
}
