//! Incremental decompression, used for members of files and for content encodings.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, Operation};

/// A decoder of one member.
pub(crate) enum Codec {
    Inflate(Decompress),
    Zstd(Decoder<'static>),
    Brotli(Box<Brotli>),
}

/// Result of one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodecStep {
    pub(crate) read: usize,
    pub(crate) written: usize,
    /// Whether the member or frame is complete, and its checksum was correct.
    pub(crate) done: bool,
}

const WINDOW_BITS: u8 = 15;

impl Codec {
    pub(crate) fn gzip() -> Self {
        Codec::Inflate(Decompress::new_gzip(WINDOW_BITS))
    }

    pub(crate) fn zlib() -> Self {
        Codec::Inflate(Decompress::new(true))
    }

    pub(crate) fn deflate() -> Self {
        Codec::Inflate(Decompress::new(false))
    }

    /// Fails only if there is no memory.
    pub(crate) fn zstd() -> Result<Self, String> {
        Decoder::new().map(Codec::Zstd).map_err(|error| error.to_string())
    }

    /// A decoder of zstd, made of one that has finished its frame if it is one: its tables are large.
    pub(crate) fn zstd_again(used: Option<Codec>) -> Result<Self, String> {
        match used {
            Some(Codec::Zstd(mut decoder)) => {
                decoder.reinit().map_err(|error| error.to_string())?;
                Ok(Codec::Zstd(decoder))
            }
            _ => Codec::zstd(),
        }
    }

    pub(crate) fn brotli() -> Self {
        let [bytes, words, codes] = [(); 3].map(|()| StandardAlloc::default());
        Codec::Brotli(Box::new(BrotliState::new(bytes, words, codes)))
    }

    /// Decodes from `input` to `output`. A step that neither reads nor writes needs more input.
    pub(crate) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<CodecStep, String> {
        match self {
            Codec::Inflate(inflate) => inflate_step(inflate, input, output),
            Codec::Zstd(decoder) => zstd_step(decoder, input, output),
            Codec::Brotli(state) => brotli_step(state, input, output),
        }
    }
}

fn inflate_step(inflate: &mut Decompress, input: &[u8], output: &mut [u8]) -> Result<CodecStep, String> {
    let (read, written) = (inflate.total_in(), inflate.total_out());
    let status = inflate
        .decompress(input, output, FlushDecompress::None)
        .map_err(|error| error.message().unwrap_or("bad deflate data").to_owned())?;
    Ok(CodecStep {
        read: usize::try_from(inflate.total_in() - read).expect("no more than the input"),
        written: usize::try_from(inflate.total_out() - written).expect("no more than the output"),
        done: status == Status::StreamEnd,
    })
}

type Brotli = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

fn brotli_step(state: &mut Brotli, input: &[u8], output: &mut [u8]) -> Result<CodecStep, String> {
    let (mut read, mut written, mut total) = (0, 0, 0);
    let (mut in_left, mut out_left) = (input.len(), output.len());
    let result = BrotliDecompressStream(
        &mut in_left,
        &mut read,
        input,
        &mut out_left,
        &mut written,
        output,
        &mut total,
        state,
    );
    match result {
        BrotliResult::ResultFailure => Err("bad brotli data".to_owned()),
        BrotliResult::ResultSuccess => Ok(CodecStep { read, written, done: true }),
        BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {
            Ok(CodecStep { read, written, done: false })
        }
    }
}

fn zstd_step(decoder: &mut Decoder<'static>, input: &[u8], output: &mut [u8]) -> Result<CodecStep, String> {
    if input.is_empty() && output.is_empty() {
        return Ok(CodecStep { read: 0, written: 0, done: false });
    }
    let status = decoder.run_on_buffers(input, output).map_err(|error| error.to_string())?;
    let moved = status.bytes_read + status.bytes_written > 0;
    Ok(CodecStep {
        read: status.bytes_read,
        written: status.bytes_written,
        done: moved && status.remaining == 0,
    })
}
