//! The files of pictures: PNG and JPEG.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use png::{BitDepth, ColorType, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::raster::Raster;

/// How PNG and JPEG files begin.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = &[0xff, 0xd8, 0xff];

/// The largest side of a JPEG file, in pixels.
const LONGEST: usize = 65_535;

/// The largest number of bytes that a picture may have when it is decoded; and that a PNG file may ask for
/// beside them. A file of a few bytes can claim any number.
const LARGEST: usize = 1 << 29;

/// What is wrong with the content of a file.
type Damage = Box<dyn Error + Send + Sync>;

/// Reads a PNG or JPEG file; its content says which it is. Transparency is left out, and of 16 bits the first
/// 8 are kept. What is missing at the end of a JPEG file is grey.
///
/// # Errors
/// If it cannot be read, is no such picture, or has more than 2²⁹ bytes of pixels.
pub fn read(path: &Path) -> Result<Raster> {
    let bytes = std::fs::read(path).map_err(AppError::io(path))?;
    let decoded = match &bytes {
        _ if bytes.starts_with(PNG) => decode_png(&bytes),
        _ if bytes.starts_with(JPEG) => decode_jpeg(&bytes),
        _ => return Err(AppError::content(path, "neither a PNG nor a JPEG file")),
    };
    decoded.map_err(damaged(path))
}

/// What a PNG or JPEG file says without its pixels.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// 1 if the picture is grey, otherwise 3.
    pub channels: usize,
    /// A checksum of the file's length, its first and its last bytes, by which another picture is known.
    pub checksum: u32,
}

/// Number of bytes at each end of a file that its checksum is of.
const END: u64 = 4096;

/// Reads the header of a PNG or JPEG file.
///
/// # Errors
/// If the file cannot be read, or does not begin as such a picture.
pub fn read_header(path: &Path) -> Result<Header> {
    let mut file = BufReader::new(File::open(path).map_err(AppError::io(path))?);
    let (mut start, mut hasher) = (Vec::new(), crc32fast::Hasher::new());
    file.by_ref().take(END).read_to_end(&mut start).map_err(AppError::io(path))?;
    let length = file.seek(SeekFrom::End(0)).map_err(AppError::io(path))?;
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(END))).map_err(AppError::io(path))?;
    file.by_ref().take(END).read_to_end(&mut end).map_err(AppError::io(path))?;
    file.rewind().map_err(AppError::io(path))?;
    [&length.to_le_bytes()[..], &start, &end].iter().for_each(|bytes| hasher.update(bytes));
    let channels = match &start {
        _ if start.starts_with(PNG) => png_reader(file).map(|reader| channels_of(&reader).1),
        _ if start.starts_with(JPEG) => jpeg_decoder(file).map(|(_, channels)| channels),
        _ => return Err(AppError::content(path, "neither a PNG nor a JPEG file")),
    };
    Ok(Header { channels: channels.map_err(damaged(path))?, checksum: hasher.finalize() })
}

fn damaged(path: &Path) -> impl FnOnce(Damage) -> AppError + '_ {
    move |error| AppError::content(path, format!("a damaged picture: {error}"))
}

/// A decoder to bytes, after the header.
fn png_reader<R: BufRead + Seek>(content: R) -> std::result::Result<png::Reader<R>, Damage> {
    let mut decoder = png::Decoder::new_with_limits(content, Limits { bytes: LARGEST });
    decoder.set_transformations(Transformations::normalize_to_color8());
    Ok(decoder.read_info()?)
}

/// The channels of a decoded pixel, and those that are kept.
fn channels_of<R: BufRead + Seek>(reader: &png::Reader<R>) -> (usize, usize) {
    let (colour, _) = reader.output_color_type();
    match colour {
        ColorType::Grayscale => (1, 1),
        ColorType::GrayscaleAlpha => (2, 1),
        ColorType::Rgba => (4, 3),
        ColorType::Rgb | ColorType::Indexed => (3, 3),
    }
}

fn decode_png(bytes: &[u8]) -> std::result::Result<Raster, Damage> {
    let mut reader = png_reader(Cursor::new(bytes))?;
    let (decoded, kept) = channels_of(&reader);
    let size = reader.output_buffer_size().filter(|&bytes| bytes <= LARGEST);
    let mut pixels = vec![0; size.ok_or("too many pixels")?];
    let frame = reader.next_frame(&mut pixels)?;
    let [height, width] = [frame.height, frame.width].map(|length| length as usize);
    if decoded > kept {
        pixels = pixels.chunks_exact(decoded).flat_map(|pixel| &pixel[..kept]).copied().collect();
    }
    Ok(Raster::new([height, width, kept], pixels))
}

/// A decoder after the header, and the channels that it is to give: 1 for grey pictures, otherwise 3.
fn jpeg_decoder<R: BufRead + Seek>(content: R) -> std::result::Result<(JpegDecoder<R>, usize), Damage> {
    let options = DecoderOptions::default().set_max_width(LONGEST).set_max_height(LONGEST);
    let mut decoder = JpegDecoder::new_with_options(content, options);
    decoder.decode_headers().map_err(|error| format!("{error:?}"))?;
    let channels = if decoder.input_colorspace() == Some(ColorSpace::Luma) { 1 } else { 3 };
    let (width, height) = decoder.dimensions().ok_or("no size")?;
    if width * height * channels > LARGEST {
        return Err("too many pixels".into());
    }
    Ok((decoder, channels))
}

fn decode_jpeg(bytes: &[u8]) -> std::result::Result<Raster, Damage> {
    let (mut decoder, channels) = jpeg_decoder(Cursor::new(bytes))?;
    let colours = if channels == 1 { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(colours));
    let pixels = decoder.decode().map_err(|error| format!("{error:?}"))?;
    let (width, height) = decoder.dimensions().ok_or("no size")?;
    Ok(Raster::new([height, width, channels], pixels))
}

/// A picture as a PNG file.
///
/// # Panics
/// If a side has 2³² pixels.
pub fn png(picture: &Raster) -> Vec<u8> {
    let [width, height] =
        [picture.width(), picture.height()].map(|side| u32::try_from(side).expect("a side"));
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(if picture.channels() == 1 { ColorType::Grayscale } else { ColorType::Rgb });
    encoder.set_depth(BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(picture.pixels())?;
        writer.finish()
    });
    written.expect("a picture in memory");
    file
}

/// A picture as a PNG file within a drawing: what `href` of an SVG image takes.
pub fn data_url(picture: &Raster) -> String {
    format!("data:image/png;base64,{}", base64::encode(png(picture)))
}
