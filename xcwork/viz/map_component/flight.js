// Flying from one view to another; who prefers reduced motion is there at once.

const FLIGHT_MILLISECONDS = 520;
const LABELS_IN_CLOSE_VIEW = 300;
const MIN_CLOSE_ZOOM = 3;
const MAX_CLOSE_ZOOM = 1000;

class Flight {
  constructor(from, to) {
    const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    Object.assign(this, { from, to, begun: performance.now(), length: isReduced ? 0 : FLIGHT_MILLISECONDS });
  }

  // Move the camera to where the flight is now; return whether it has arrived.
  move(camera) {
    const share = this.length ? Math.min(1, (performance.now() - this.begun) / this.length) : 1;
    Object.assign(camera, share < 1 ? this.viewAt(share) : this.to);
    return share === 1;
  }

  // The zoom dips on long ways, so that both ends are understood.
  viewAt(share) {
    const { from, to } = this;
    const eased = share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2;
    const way = Math.hypot(to.x - from.x, to.y - from.y) * Math.min(from.zoom, to.zoom);
    const dip = Math.min(1.2, way * 0.6) * Math.sin(Math.PI * eased);
    const zoom = Math.exp(Math.log(from.zoom) + (Math.log(to.zoom) - Math.log(from.zoom)) * eased - dip);
    return { x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased, zoom };
  }
}

// A view with the label in the middle, close enough for names: however dense it is there, few labels are seen.
function viewAround(place, labels, grid, camera) {
  const [x, y] = [labels.positions[2 * place], labels.positions[2 * place + 1]];
  let zoom = Math.max(camera.zoom, MIN_CLOSE_ZOOM);
  for (; zoom < MAX_CLOSE_ZOOM; zoom *= 1.3) {
    const halfWidth = camera.width / (2 * camera.fittingScale * zoom);
    const halfHeight = camera.height / (2 * camera.fittingScale * zoom);
    if (grid.countNear([x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight]) <= LABELS_IN_CLOSE_VIEW) break;
  }
  return { x, y, zoom };
}
