// Palettes by colours at equal steps, from idle to busy. All get darker, or lighter, from one end to the other, so that they can
// be read without colour: by people of any colour vision, and in print.

export const IDLE = "#d4d4d4";
export const MARK = "#0b57a4"; // chosen ports, roots and branches: on no palette

export const PALETTES = {
  heat: { label: "heat (as in plots)", colours: ["#e9e9e9", "#f6c667", "#e2711d", "#a3153a", "#2b0a3d"] },
  cividis: {
    label: "cividis, busy is dark",
    colours: [
      "#fee838", "#efd748", "#ddc858", "#ccba64", "#bbad6d", "#aaa073", "#9a9376", "#8b8778", "#7c7b78",
      "#6e6f73", "#60646f", "#52596d", "#424e6c", "#31436d", "#18376f", "#002d68", "#00224e",
    ],
  },
  viridis: {
    label: "viridis, busy is dark",
    colours: [
      "#fde725", "#d5e21a", "#aadc32", "#81d34d", "#5cc863", "#3dbc74", "#27ad81", "#1f9f88", "#21908d",
      "#26818e", "#2c718e", "#33628d", "#3b518b", "#423f85", "#472c7a", "#481769", "#440154",
    ],
  },
  magma: {
    label: "magma, busy is dark",
    colours: [
      "#fcfdbf", "#fde0a1", "#fec287", "#fea571", "#fb8761", "#f4695c", "#e55064", "#cf4070", "#b5367a",
      "#9b2e7f", "#812581", "#681c81", "#4f127b", "#341069", "#1c1044", "#090720", "#000004",
    ],
  },
  grey: { label: "grey", colours: ["#e4e4e4", "#b0b0b0", "#808080", "#505050", "#000000"] },
};

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// The colour at a part from 0 to 1, as three numbers from 0 to 255.
export function colour(palette, part) {
  const { colours } = PALETTES[palette];
  const place = Math.min(Math.max(part, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(place), colours.length - 2);
  const [from, to] = [channels(colours[low]), channels(colours[low + 1])];
  return from.map((value, i) => Math.round(value + (place - low) * (to[i] - value)));
}

// 256 colours as bytes of red, green, blue and alpha.
export function table(palette) {
  const bytes = new Uint8Array(4 * 256);
  for (let i = 0; i < 256; i += 1) bytes.set([...colour(palette, i / 255), 255], 4 * i);
  return bytes;
}

export const gradient = (palette) => `linear-gradient(to right, ${PALETTES[palette].colours.join(", ")})`;
