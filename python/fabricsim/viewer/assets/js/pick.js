// The node or direction of a link at a place of the picture.

const NEAR = 7; // pixels

// Returns { run, node }, { run, link }, or null.
export function pick(view, x, y, { withHosts, withIdle, least }) {
  const number = view.panelAt(x, y);
  if (number < 0) return null;
  const panel = view.panels[number];
  const project = view.projection(panel);
  const node = nearestNode(panel, project, x, y, withHosts);
  if (node >= 0) return { run: number, node };
  const link = nearestLink(panel, project, x, y, { withHosts, withIdle, least });
  return link < 0 ? null : { run: number, link };
}

function nearestNode({ run, switchSize, hostSize }, project, x, y, withHosts) {
  let [found, best] = [-1, Infinity];
  for (let node = 0; node < run.names.length; node += 1) {
    if (run.isHost[node] && (!withHosts || !hostSize)) continue;
    const at = project(run.places.subarray(3 * node, 3 * node + 3));
    if (!at) continue;
    const far = Math.hypot(at[0] - x, at[1] - y);
    const half = (run.isHost[node] ? hostSize : switchSize) / 2;
    if (far <= half + 1 && far < best) [found, best] = [node, far];
  }
  return found;
}

// Of links that are equally near, the busiest, which is drawn on top.
function nearestLink({ run, links, thick, values }, project, x, y, { withHosts, withIdle, least }) {
  let [found, best] = [-1, NEAR];
  for (let piece = 0; piece < links.link.length; piece += 1) {
    const link = links.link[piece];
    const hidden = (!withHosts && run.isHostLink(link)) || (!withIdle && !(values[link] > 0))
      || (least > 0 && !(values[link] >= least));
    if (hidden) continue;
    const a = project(links.begin.subarray(3 * piece, 3 * piece + 3));
    const b = project(links.end.subarray(3 * piece, 3 * piece + 3));
    if (!a || !b) continue;
    const far = distance(beside(a, b, thick), x, y) - 0.4 * Math.max(values[link] || 0, 0);
    if (far < best) [found, best] = [link, far];
  }
  return found;
}

// A line in pixels, moved to the right of its way as it is drawn.
export function beside([ax, ay], [bx, by], thick) {
  const length = Math.hypot(bx - ax, by - ay) || 1;
  const [x, y] = [(-(by - ay) / length) * 0.6 * thick, ((bx - ax) / length) * 0.6 * thick];
  return [ax + x, ay + y, bx + x, by + y];
}

function distance([ax, ay, bx, by], x, y) {
  const square = (bx - ax) ** 2 + (by - ay) ** 2;
  const t = square ? Math.min(Math.max(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square, 0), 1) : 0;
  return Math.hypot(ax + t * (bx - ax) - x, ay + t * (by - ay) - y);
}
