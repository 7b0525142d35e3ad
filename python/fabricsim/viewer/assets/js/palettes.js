// Palettes by colours at equal steps, from idle to busy. All get darker, or lighter, from one end to the other, so that they can
// be told apart without colour: by people of any colour vision, and in print.

export const IDLE = "#d4d4d4";
export const MARK = "#0b57a4"; // chosen ports, roots and branches: on no palette

export const PALETTES = {
  heat: { label: "heat (as in plots)", colours: ["#e9e9e9", "#f6c667", "#e2711d", "#a3153a", "#2b0a3d"] },
  cividis: {
    label: "cividis, busy is dark",
    colours: ["#fee838", "#dec958", "#bcae6c", "#a19675", "#848279", "#6c6e72", "#51596b", "#30466b", "#00224e"],
  },
  viridis: {
    label: "viridis, busy is dark",
    colours: ["#fde725", "#addc30", "#5ec962", "#28ae80", "#21918c", "#2c728e", "#3b528b", "#472d7b", "#440154"],
  },
  magma: {
    label: "magma, busy is dark",
    colours: ["#fcfdbf", "#fec488", "#fb8861", "#e75263", "#b73779", "#822681", "#51127c", "#1d1147", "#000004"],
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
