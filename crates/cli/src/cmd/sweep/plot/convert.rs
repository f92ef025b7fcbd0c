//! Converts a plot from SVG to PNG and PDF.

#[cfg(feature = "plots")]
pub(super) use with_plots::{check_can_convert, to_pdf, to_png};
#[cfg(not(feature = "plots"))]
pub(super) use without_plots::{check_can_convert, to_pdf, to_png};

#[cfg(feature = "plots")]
mod with_plots {
    use std::sync::Arc;

    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb};
    use svg2pdf::{ConversionOptions, PageOptions};

    use crate::cmd::failure::Failure;

    const PNG_WIDTH: f32 = 1280.0;

    /// Font families for text, the most preferred one first.
    const SANS_SERIF: [&str; 5] =
        ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica"];
    const MONOSPACE: [&str; 4] = ["DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", "Menlo"];

    /// Returns an error if this machine has no font. Called before the runs start.
    pub(in super::super) fn check_can_convert() -> Result<(), Failure> {
        fonts().map(drop)
    }

    pub(in super::super) fn to_png(svg: &str) -> Result<Vec<u8>, Failure> {
        let tree = tree(svg)?;
        let scale = PNG_WIDTH / tree.size().width();
        let height = (tree.size().height() * scale).ceil();
        let mut pixels = Pixmap::new(PNG_WIDTH as u32, height as u32).ok_or_else(|| {
            Failure::environment(format!("no room for a picture of {height} rows"))
        })?;
        let transform = Transform::from_scale(scale, scale);
        resvg::render(&tree, transform, &mut pixels.as_mut());
        pixels.encode_png().map_err(Failure::environment)
    }

    pub(in super::super) fn to_pdf(svg: &str) -> Result<Vec<u8>, Failure> {
        svg2pdf::to_pdf(&tree(svg)?, ConversionOptions::default(), PageOptions::default())
            .map_err(Failure::environment)
    }

    fn tree(svg: &str) -> Result<Tree, Failure> {
        let options = Options { fontdb: Arc::new(fonts()?), ..Options::default() };
        Tree::from_str(svg, &options).map_err(Failure::environment)
    }

    fn fonts() -> Result<fontdb::Database, Failure> {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        let any = fonts.faces().next().and_then(|face| face.families.first());
        let Some((any, _)) = any.cloned() else {
            return Err(Failure::environment(
                "no font found for the text of the plot: install one, such as fonts-dejavu-core, \
                 or use --plot FILE.svg",
            ));
        };
        let sans_serif = first_of(&fonts, &SANS_SERIF).unwrap_or(&any).to_owned();
        let monospace = first_of(&fonts, &MONOSPACE).unwrap_or(&sans_serif).to_owned();
        fonts.set_sans_serif_family(&*sans_serif);
        fonts.set_serif_family(&*sans_serif);
        fonts.set_monospace_family(&*monospace);
        Ok(fonts)
    }

    fn first_of(fonts: &fontdb::Database, names: &[&'static str]) -> Option<&'static str> {
        let is_known = |name: &&'static str| {
            fonts.faces().any(|face| face.families.iter().any(|(family, _)| family == name))
        };
        names.iter().copied().find(|name| is_known(name))
    }
}

#[cfg(not(feature = "plots"))]
mod without_plots {
    use crate::cmd::failure::Failure;

    /// Returns an error, because this build cannot convert plots.
    pub(in super::super) fn check_can_convert() -> Result<(), Failure> {
        Err(Failure::usage(
            "this build writes plots as .svg only: build the crate `tenure` with the feature \
             `plots` for .png and .pdf, or convert the .svg",
        ))
    }

    pub(in super::super) fn to_png(_svg: &str) -> Result<Vec<u8>, Failure> {
        check_can_convert().map(|()| Vec::new())
    }

    pub(in super::super) fn to_pdf(_svg: &str) -> Result<Vec<u8>, Failure> {
        check_can_convert().map(|()| Vec::new())
    }
}
