//! Features that store each item as one byte string: the memory of arrays, images, sound (spec/tfds.md §6.3).

use tesson_formats::example::List;
use tesson_image::decode::{self as image, Depth};

use super::super::column::{Column, Data, Shapes};
use super::super::dtype::DType;
use super::super::fault::FeatureFault;
use super::super::schema::Plan;
use super::super::tree::{Coding, Dim};
use super::super::zlib;
use super::layout::Stored;
use super::{Fill, Limits, Lists, wave};

/// Decodes the items of these rows.
pub(super) fn items(
    plan: &Plan,
    lists: &Lists<'_>,
    limits: Limits,
    rows: &Stored,
    column: &mut Column,
) -> Fill<()> {
    let stored = &lists.lists.of[plan.keys.values];
    let List::Bytes(spans) = &stored.values else { return Ok(()) };
    let mut item = Item { plan, limits, dims: Vec::new() };
    for row in rows.rows() {
        let spans = &spans[stored.row(row)];
        let shapes = shapes(plan, lists, row, spans.len()).map_err(|fault| (row, fault))?;
        for (i, span) in spans.iter().enumerate() {
            let rank = plan.leaf.shape.len();
            let shape = shapes.map(|all| &all[i * rank..][..rank]);
            item.decode(&lists.block[span.range()], shape, column).map_err(|fault| (row, fault))?;
        }
    }
    Ok(())
}

/// The shapes that are stored beside the items of a row, one after the other.
fn shapes<'a>(
    plan: &Plan,
    lists: &'a Lists<'_>,
    row: usize,
    items: usize,
) -> Result<Option<&'a [i64]>, FeatureFault> {
    let Some(key) = plan.keys.shape else { return Ok(None) };
    let column = &lists.lists.of[key];
    let List::Ints(shapes) = &column.values else { return Ok(None) };
    let shapes = &shapes[column.row(row)];
    if shapes.len() == items * plan.leaf.shape.len() {
        Ok(Some(shapes))
    } else {
        let shape = vec![Some(items), Some(plan.leaf.shape.len())];
        Err(FeatureFault::Count { found: shapes.len(), shape })
    }
}

struct Item<'a> {
    plan: &'a Plan,
    limits: Limits,
    /// The shape of the item at hand.
    dims: Vec<usize>,
}

impl Item<'_> {
    fn decode(
        &mut self,
        bytes: &[u8],
        shape: Option<&[i64]>,
        column: &mut Column,
    ) -> Result<(), FeatureFault> {
        let Data::Fixed { size, bytes: out } = &mut column.data else { return Ok(()) };
        let before = out.len();
        self.dims.clear();
        match self.plan.leaf.coding {
            Coding::Raw => {
                out.extend_from_slice(bytes);
                self.array(&mut out[before..], *size, shape)?;
            }
            Coding::Zlib => {
                self.inflate(bytes, shape, *size, out)?;
                self.array(&mut out[before..], *size, shape)?;
            }
            Coding::Image => self.image(bytes, out)?,
            Coding::Sound => self.sound(bytes, out)?,
            Coding::Plain => {}
        }
        if let Shapes::Each { dims, values, .. } = &mut column.shapes {
            dims.extend_from_slice(&self.dims);
            values.push((out.len() - before) / *size);
        }
        Ok(())
    }

    /// The memory of an array: its shape follows from its size, or is stored beside it.
    fn array(&mut self, memory: &mut [u8], size: usize, stored: Option<&[i64]>) -> Result<(), FeatureFault> {
        let declared = &self.plan.leaf.shape;
        let fault = |shape: Vec<Dim>| FeatureFault::Bytes { found: memory.len(), size, shape };
        let values = memory.len() / size;
        if !memory.len().is_multiple_of(size) {
            return Err(fault(declared.clone()));
        }
        match stored {
            Some(dims) => {
                self.stored_shape(dims)?;
                if product(&self.dims) != Some(values) {
                    return Err(fault(self.dims.iter().copied().map(Some).collect()));
                }
            }
            None => {
                let known: usize = declared.iter().flatten().product();
                let unknown = match known {
                    0 => 0,
                    known => values / known,
                };
                self.dims.extend(declared.iter().map(|d| d.unwrap_or(unknown)));
                if product(&self.dims) != Some(values) {
                    return Err(fault(declared.clone()));
                }
            }
        }
        if self.plan.leaf.dtype == DType::Bool {
            memory.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok(())
    }

    /// A shape that is stored: its known dimensions must be those declared.
    fn stored_shape(&mut self, dims: &[i64]) -> Result<(), FeatureFault> {
        let declared = &self.plan.leaf.shape;
        let fits = |(d, known): (&i64, &Dim)| *d >= 0 && known.is_none_or(|known| known as u64 == *d as u64);
        if !dims.iter().zip(declared).all(fits) {
            return Err(FeatureFault::Shape { found: dims.to_vec(), declared: declared.clone() });
        }
        self.dims.extend(dims.iter().map(|d| *d as usize));
        Ok(())
    }

    /// Decompresses an array. No more is decompressed than its shape or the limit allows, and one byte that shows that
    /// there is more.
    fn inflate(
        &self,
        bytes: &[u8],
        stored: Option<&[i64]>,
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), FeatureFault> {
        let fault = |what: String| Err(FeatureFault::Zlib { what });
        let declared: Option<Vec<usize>> = self.plan.leaf.shape.iter().copied().collect();
        let dims = stored.and_then(|dims| dims.iter().map(|d| usize::try_from(*d).ok()).collect());
        let exact = declared.or(dims).and_then(|dims| product(&dims)?.checked_mul(size));
        let limit = exact.unwrap_or(self.limits.value_bytes).min(self.limits.value_bytes);
        match zlib::decompress(bytes, limit as u64 + 1, out) {
            Ok((n, _)) if n > limit && exact.is_none() => {
                fault(format!("more than {limit} bytes, which is the limit"))
            }
            Ok((n, used)) if n <= limit && used < bytes.len() => {
                fault(format!("{} bytes behind the end", bytes.len() - used))
            }
            Ok(_) => Ok(()),
            Err(what) => fault(what),
        }
    }

    /// An image. One of 32-bit floats is kept in a file of four 8-bit channels (spec/tfds.md §6.4).
    fn image(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), FeatureFault> {
        let declared = &self.plan.leaf.shape;
        let channels = declared.last().copied().flatten();
        let floats = self.plan.leaf.dtype == DType::Float32;
        let want = image::Want {
            channels: if floats { Some(4) } else { channels },
            depth: if self.plan.leaf.dtype == DType::UInt16 { Depth::Sixteen } else { Depth::Eight },
            limit: self.limits.value_bytes,
        };
        let shape = image::decode_at(bytes, want, self.plan.scale, out)
            .map_err(|error| FeatureFault::Image { error })?;
        self.dims.extend(shape.dims());
        if floats && let Some(last) = self.dims.last_mut() {
            *last = 1;
        }
        self.fits()
    }

    fn sound(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), FeatureFault> {
        let declared = &self.plan.leaf.shape;
        let channels = declared.get(1).copied();
        let sound = wave::decode(bytes, channels.map_or(Some(1), |c| c), self.plan.leaf.dtype, out);
        let (samples, found) = sound.map_err(|what| FeatureFault::Sound { what })?;
        self.dims.push(samples);
        self.dims.extend(channels.map(|_| found));
        self.fits()
    }

    /// Checks that the item's shape fits the declared one.
    fn fits(&self) -> Result<(), FeatureFault> {
        let declared = &self.plan.leaf.shape;
        let same = |(d, known): (&usize, &Dim)| known.is_none_or(|known| known == *d);
        if self.dims.len() == declared.len() && self.dims.iter().zip(declared).all(same) {
            return Ok(());
        }
        let found = self.dims.iter().map(|d| *d as i64).collect();
        Err(FeatureFault::Shape { found, declared: declared.clone() })
    }
}

fn product(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d))
}
