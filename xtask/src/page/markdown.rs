//! Markdown as HTML, with live commands and links that the caller resolves.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::html::escape;

/// Target of a link, and the further attributes of the link.
#[derive(Debug)]
pub(crate) struct LinkTarget {
    /// Address of the target, without escapes for HTML.
    pub(crate) href: String,
    /// Further attributes of the link, as HTML that begins with a space.
    pub(crate) attributes: String,
}

pub(crate) struct Document<'a> {
    events: Vec<Event<'a>>,
}

impl<'a> Document<'a> {
    pub(crate) fn new(text: &str) -> Document<'static> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        let events = Parser::new_ext(text, options).map(Event::into_static).collect();
        Document { events }
    }

    /// Returns the text of the first heading. Empty if there is none.
    pub(crate) fn title(&self) -> String {
        let is_heading = |event: &Event<'_>| matches!(event, Event::Start(Tag::Heading { .. }));
        let heading = self.events.iter().position(is_heading);
        heading.map_or_else(String::new, |at| heading_text(&self.events[at..]))
    }

    /// Returns the document as HTML.
    ///
    /// `target` returns the target of a link. If it returns `None`, only the text of the link
    /// stays. `picture` returns the address of a picture. `after_commands` receives the commands of
    /// a console block, and returns HTML to insert after this block.
    ///
    /// # Errors
    ///
    /// Returns the error of `picture`.
    pub(crate) fn to_html(
        &self,
        target: &dyn Fn(&str) -> Option<LinkTarget>,
        picture: &dyn Fn(&str) -> Result<String, String>,
        after_commands: &dyn Fn(&[String]) -> String,
    ) -> Result<String, String> {
        let mut made: Vec<Event<'_>> = Vec::new();
        // For each open link: true if it has a target.
        let mut open_links = Vec::new();
        let mut code: Option<String> = None;
        for (at, event) in self.events.iter().enumerate() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind)))
                    if kind.as_ref() == "console" =>
                {
                    code = Some(String::new());
                }
                Event::Text(text) if code.is_some() => code.iter_mut().for_each(|it| *it += text),
                Event::End(TagEnd::CodeBlock) if code.is_some() => {
                    let text = code.take().unwrap_or_default();
                    made.push(raw(console(&text) + &after_commands(&tenure_commands(&text))));
                }
                Event::Start(Tag::Link { dest_url, .. }) => {
                    let found = target(dest_url);
                    open_links.push(found.is_some());
                    made.extend(found.map(|target| raw(opened(&target))));
                }
                Event::End(TagEnd::Link) => {
                    let is_open = open_links.pop() == Some(true);
                    made.extend(is_open.then(|| raw("</a>".to_owned())));
                }
                Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                    made.push(Event::Start(Tag::Image {
                        link_type: *link_type,
                        dest_url: picture(dest_url)?.into(),
                        title: title.clone(),
                        id: id.clone(),
                    }));
                }
                Event::Start(Tag::Heading { level, .. }) => {
                    let id = slug(&heading_text(&self.events[at..]));
                    made.push(raw(format!("<{level} id=\"{}\">", escape(&id))));
                }
                Event::Start(Tag::Table(_)) => {
                    made.extend([raw("<div class=\"wide\">".to_owned()), event.clone()]);
                }
                Event::End(TagEnd::Table) => {
                    made.extend([event.clone(), raw("</div>".to_owned())]);
                }
                _ => made.push(event.clone()),
            }
        }
        let mut text = String::new();
        html::push_html(&mut text, made.into_iter());
        Ok(text)
    }
}

fn raw(text: String) -> Event<'static> {
    Event::InlineHtml(CowStr::from(text))
}

fn opened(LinkTarget { href, attributes }: &LinkTarget) -> String {
    format!("<a href=\"{}\"{attributes}>", escape(href))
}

/// Returns the text of the heading that begins with the first of `events`.
fn heading_text(events: &[Event<'_>]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let text = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        _ => None,
    });
    text.collect()
}

/// Returns the identifier of a heading, as code hosts and mdbook derive it.
pub(crate) fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || matches!(letter, '-' | '_') => Some(letter),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns the HTML of a block of commands and their output. The attribute `data-lines` lists the
/// commands that a page can run.
fn console(text: &str) -> String {
    let lines = serde_json::json!(tenure_commands(text)).to_string();
    format!("<pre data-lines=\"{}\"><code>{}</code></pre>\n", escape(&lines), escape(text))
}

/// Returns the commands of `tenure` in a console block, without the word `tenure`. Omits commands
/// that use files or other programs.
pub(crate) fn tenure_commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(start) = line.strip_prefix("$ ") else { continue };
        let mut whole = start.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push_str(lines.next().unwrap_or_default().trim_start());
        }
        let whole = whole.split(" # ").next().unwrap_or_default();
        let is_plain = !whole.contains(['|', '>', ';', '&', '$', '`']) || whole.contains('\'');
        let uses_files = ["--trace", ".ndjson", ".toml", ".dot", ".txt", "trace "]
            .iter()
            .any(|part| whole.contains(part));
        if let Some(command) = whole.strip_prefix("tenure ")
            && is_plain
            && !uses_files
        {
            found.push(command.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Document, LinkTarget, slug, tenure_commands};

    fn html(text: &str) -> String {
        let target = |link: &str| {
            let attributes = String::new();
            link.strip_suffix(".md")
                .map(|name| LinkTarget { href: format!("{name}.html"), attributes })
        };
        Document::new(text)
            .to_html(&target, &|file| Ok(format!("data:{file}")), &|_| String::new())
            .unwrap()
    }

    #[test]
    fn resolves_links_and_pictures() {
        let text = html("[a](b.md) [c](../d.rs) ![e](f.svg)");
        assert!(text.contains("<a href=\"b.html\">a</a> c "), "{text}");
        assert!(text.contains("src=\"data:f.svg\""), "{text}");
    }

    #[test]
    fn headings_have_identifiers() {
        assert_eq!(html("## A `b`, c\n").trim(), "<h2 id=\"a-b-c\">A <code>b</code>, c</h2>");
        assert_eq!(Document::new("# One *step*\n\n## More\n").title(), "One step");
        assert_eq!(slug("It's new — now"), "its-new--now");
    }

    #[test]
    fn console_blocks_list_their_commands() {
        let text = "$ tenure check bully -n 3 \\\n    --crash 1 # exit 1\nviolated\n$ ls\n\
                    $ tenure trace show a.ndjson\n$ tenure list | head\n";
        assert_eq!(tenure_commands(text), ["check bully -n 3 --crash 1"]);
        let block = html(&format!("```console\n{text}```\n"));
        let lines = "data-lines=\"[&quot;check bully -n 3 --crash 1&quot;]\"";
        assert!(block.contains(lines), "{block}");
        assert!(block.contains("<code>$ tenure check bully"), "{block}");
        assert!(!html("```rust\n$ tenure list\n```\n").contains("data-lines"));
    }

    #[test]
    fn text_of_commands_is_escaped() {
        assert!(html("```console\n$ tenure list <b>\n```\n").contains("&lt;b&gt;"));
    }
}
