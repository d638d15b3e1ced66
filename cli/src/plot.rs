//! `compare --plot`: a slice of the original, of what came back, and their difference, side by side in colours.

use crate::failure::Failure;
use crate::output::OutFile;
use fzgm::{Array, DType};

/// Pixels along a side; what is larger is thinned out, what is smaller is drawn in squares.
const SIDE: usize = 1024;
const GAP: usize = 8;
/// The colours below a panel, from its smallest to its largest value.
const BAR: usize = 10;
/// A line of an array of one dimension.
const LINE: usize = 512;

type Colour = [u8; 3];
const WHITE: Colour = [255; 3];
/// What is NaN or infinite.
const GREY: Colour = [128; 3];
/// Ten colours of viridis, which rises in brightness alike for every eye.
const VALUES: [Colour; 10] = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 74, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [109, 205, 89],
    [180, 222, 44],
    [253, 231, 37],
];
/// Too low, right, too high.
const ERRORS: [Colour; 3] = [[0, 64, 192], WHITE, [192, 32, 0]];

/// What the colours stand for.
pub(crate) struct Legend {
    /// Index of the slice along the slowest dimension.
    pub(crate) slice: u64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The errors go from minus this to this.
    pub(crate) error: f64,
}

/// A plane of an array and how it is drawn.
struct Plane {
    start: usize,
    width: usize,
    height: usize,
    /// Every so many-th value is a point.
    stride: usize,
    /// A point is a square of so many pixels.
    zoom: usize,
}

impl Plane {
    fn new(array: &Array, slice: Option<u64>) -> Result<(Plane, u64), Failure> {
        let dims: Vec<usize> = array.joined_dims().iter().map(|d| *d as usize).collect();
        let (width, height, count) = match dims[..] {
            [x, y, z] => (x, y, z),
            [x, y] => (x, y, 1),
            _ => {
                let all = array.elements() as usize;
                (all.min(LINE), all.div_ceil(LINE), 1)
            }
        };
        if width * height == 0 || count == 0 {
            return Err(Failure::usage("an array without elements has no picture: leave --plot out"));
        }
        let slice = slice.unwrap_or(count as u64 / 2);
        if slice >= count as u64 {
            return Err(Failure::usage(format!("--slice {slice}: the array has {count}, from 0")));
        }
        let longer = width.max(height);
        let start = slice as usize * width * height;
        let plane =
            Plane { start, width, height, stride: longer.div_ceil(SIDE), zoom: (256 / longer).max(1) };
        Ok((plane, slice))
    }

    fn points(&self) -> (usize, usize) {
        (self.width.div_ceil(self.stride), self.height.div_ceil(self.stride))
    }

    /// The values of the points; NaN where a last line is not full.
    fn values(&self, dtype: DType, bytes: &[u8]) -> Vec<f64> {
        let (columns, rows) = self.points();
        let at = |row, column| self.start + (row * self.width + column) * self.stride;
        let all = (0..rows).flat_map(|row| (0..columns).map(move |column| at(row, column)));
        all.map(|i| value(dtype, bytes, i)).collect()
    }
}

fn value(dtype: DType, bytes: &[u8], index: usize) -> f64 {
    let width = dtype.bytes() as usize;
    let Some(found) = bytes.get(index * width..(index + 1) * width) else { return f64::NAN };
    let mut word = [0; 8];
    word[..width].copy_from_slice(found);
    let word = u64::from_le_bytes(word);
    match dtype {
        DType::F64 => f64::from_bits(word),
        DType::F32 => f32::from_bits(word as u32).into(),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => word as f64,
        // Shifted up and back, so that the sign is taken along.
        _ => ((word << (64 - 8 * width)) as i64 >> (64 - 8 * width)) as f64,
    }
}

/// Draws `a`, `b` and b - a.
pub(crate) fn write(
    out: &OutFile,
    array: &Array,
    (a, b): (&[u8], &[u8]),
    slice: Option<u64>,
) -> Result<Legend, Failure> {
    let (plane, slice) = Plane::new(array, slice)?;
    let (a, b) = (plane.values(array.dtype(), a), plane.values(array.dtype(), b));
    let errors: Vec<f64> = a.iter().zip(&b).map(|(x, y)| y - x).collect();
    let finite = |values: &[f64]| values.iter().copied().filter(|v| v.is_finite()).collect::<Vec<_>>();
    let (seen, wrong) = (finite(&a), finite(&errors));
    let low = seen.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let high = seen.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let error = wrong.iter().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    let mut picture = Picture::new(&plane);
    picture.panel(0, &a, (low, high), &VALUES);
    picture.panel(1, &b, (low, high), &VALUES);
    picture.panel(2, &errors, (-error, error), &ERRORS);
    out.write(&picture.png().map_err(|e| Failure::output(format!("no PNG can be made: {e}")))?)?;
    Ok(Legend { slice, low, high, error })
}

struct Picture {
    columns: usize,
    rows: usize,
    zoom: usize,
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Picture {
    fn new(plane: &Plane) -> Picture {
        let ((columns, rows), zoom) = (plane.points(), plane.zoom);
        let (width, height) = (3 * columns * zoom + 2 * GAP, rows * zoom + GAP + BAR);
        Picture { columns, rows, zoom, width, height, pixels: vec![255; 3 * width * height] }
    }

    fn set(&mut self, x: usize, y: usize, colour: Colour) {
        let at = 3 * (y * self.width + x);
        self.pixels[at..at + 3].copy_from_slice(&colour);
    }

    /// The `index`-th panel from the left, with its colours below.
    fn panel(&mut self, index: usize, values: &[f64], range: (f64, f64), map: &[Colour]) {
        let width = self.columns * self.zoom;
        let left = index * (width + GAP);
        for y in 0..self.rows * self.zoom {
            for x in 0..width {
                let value = values[y / self.zoom * self.columns + x / self.zoom];
                self.set(left + x, y, colour(value, range, map));
            }
        }
        for x in 0..width {
            let share = x as f64 / (width - 1).max(1) as f64;
            for y in self.height - BAR..self.height {
                self.set(left + x, y, colour(share, (0.0, 1.0), map));
            }
        }
    }

    fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut bytes = vec![];
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(bytes)
    }
}

/// The colour of a value in a range: between two neighbours of the map.
fn colour(value: f64, (low, high): (f64, f64), map: &[Colour]) -> Colour {
    if !value.is_finite() {
        return GREY;
    }
    // Halves, since the range of the largest numbers is infinite. A range of nothing is its middle.
    let (width, above) = (high / 2.0 - low / 2.0, value / 2.0 - low / 2.0);
    let share = if width > 0.0 { (above / width).clamp(0.0, 1.0) } else { 0.5 };
    let place = share * (map.len() - 1) as f64;
    let before = (place as usize).min(map.len() - 2);
    let (from, to, part) = (map[before], map[before + 1], place - before as f64);
    std::array::from_fn(|c| (f64::from(from[c]) * (1.0 - part) + f64::from(to[c]) * part).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::{ERRORS, GREY, VALUES, WHITE, colour, value};
    use fzgm::DType;

    #[test]
    fn colours() {
        assert_eq!(colour(-1.0, (-1.0, 1.0), &VALUES), VALUES[0]);
        assert_eq!(colour(1.0, (-1.0, 1.0), &VALUES), VALUES[9]);
        assert_eq!(colour(0.0, (-2.0, 2.0), &ERRORS), WHITE);
        assert_eq!(colour(0.0, (0.0, 0.0), &ERRORS), WHITE);
        assert_eq!(colour(9.0, (0.0, 1.0), &ERRORS), ERRORS[2]);
        assert_eq!(colour(f64::MAX, (-f64::MAX, f64::MAX), &ERRORS), ERRORS[2]);
        assert_eq!(colour(f64::NAN, (0.0, 1.0), &VALUES), GREY);
    }

    #[test]
    fn values_of_all_types() {
        assert_eq!(value(DType::F32, &[0, 0, 0, 0, 0, 0, 0x20, 0xC1], 1), -10.0);
        assert_eq!(value(DType::F64, &0.1f64.to_le_bytes(), 0), 0.1);
        assert_eq!(value(DType::I8, &[0, 0xFE], 1), -2.0);
        assert_eq!(value(DType::I16, &[0xFE, 0xFF], 0), -2.0);
        assert_eq!(value(DType::U16, &[0xFE, 0xFF], 0), 65534.0);
        assert_eq!(value(DType::I64, &[0xFF; 8], 0), -1.0);
        assert!(value(DType::U8, &[1], 1).is_nan());
    }
}
