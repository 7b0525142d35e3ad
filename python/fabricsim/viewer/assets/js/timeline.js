// The time slider, and playing.

import { duration, find } from "viewer/text.js";

const SECONDS = 15; // in which a run is played

export function timeline(times, runs, state) {
  const [slider, now, whole, play] = ["time", "now", "whole", "play"].map(find);
  const end = Math.max(...runs.map((run) => run.end), times.at(-1) ?? 0);
  slider.max = Math.max(times.length - 1, 0);
  slider.disabled = !times.length;
  play.disabled = !times.length;
  slider.addEventListener("input", () => state.set({ time: times[slider.valueAsNumber], playing: false }));
  whole.addEventListener("click", () => state.set({ time: null, playing: false }));
  play.addEventListener("click", () => state.set({ playing: !state.get("playing") }));

  state.on(["time"], () => {
    const time = state.get("time");
    whole.setAttribute("aria-pressed", String(time === null));
    if (time !== null) slider.value = index(times, time);
    const text = time === null ? "whole measurement" : `at ${duration(time, end)} of ${duration(end)}`;
    now.textContent = times.length ? text : "no series: whole measurement";
    slider.setAttribute("aria-valuetext", text);
  });

  let timer = 0;
  state.on(["playing"], () => {
    clearInterval(timer);
    const playing = state.get("playing");
    play.textContent = playing ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(playing));
    if (playing) timer = setInterval(() => step(1, times, state), (1000 * SECONDS) / Math.max(times.length, SECONDS));
  });
}

// Number of the last time that is not after `time`.
export function index(times, time) {
  let found = 0;
  times.forEach((one, i) => { if (one <= time) found = i; });
  return found;
}

// Goes on by a number of times; after the last comes the first.
export function step(by, times, state) {
  if (!times.length) return;
  const time = state.get("time");
  const at = time === null ? (by > 0 ? -1 : times.length) : index(times, time);
  state.set({ time: times[(at + by + times.length) % times.length] });
}
