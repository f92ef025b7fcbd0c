//! Order of the functions in the WebAssembly module.
//!
//! The compiler makes several functions from one generic function, one for each type. These
//! functions are alike, but they lie far apart in the module. Gzip finds repetitions only within 32
//! KiB. The new order therefore places functions with equal sequences of instructions next to each
//! other.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{
    CodeSectionReader, CustomSectionReader, FunctionBody, FunctionSectionReader, Parser, Payload,
    TypeRef,
};

/// Returns a module with the same functions in a new order. In this order, similar functions follow
/// one another. The result has no custom sections, because these sections contain only names.
pub(super) fn group_similar_functions(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut order = Order::of(module).map_err(|error| format!("invalid module: {error}"))?;
    let mut sorted = Module::new();
    match order.parse_core_module(&mut sorted, Parser::new(0), module) {
        Ok(()) => Ok(sorted.finish()),
        Err(Error::ParseError(error)) => Err(format!("invalid module: {error}")),
        Err(error) => Err(format!("cannot write the module: {error}")),
    }
}

/// New order of the functions of a module.
struct Order {
    /// Number of imported functions, which keep their indices.
    imported: u32,
    /// Old positions of the functions that the module itself defines. The elements are in the new
    /// order of the functions.
    olds: Vec<usize>,
    /// New indices of the functions that the module itself defines. The elements are in the old
    /// order of the functions.
    indices: Vec<u32>,
}

impl Order {
    fn of(module: &[u8]) -> Result<Order, wasmparser::Error> {
        let mut imported = 0;
        let mut codes = Vec::new();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                    }
                }
                Payload::CodeSectionEntry(body) => codes.push(opcodes(&body)?),
                _ => {}
            }
        }
        let mut olds: Vec<usize> = (0..codes.len()).collect();
        olds.sort_by_key(|old| &codes[*old]);
        let mut indices = vec![0; olds.len()];
        for (index, old) in (imported..).zip(&olds) {
            indices[*old] = index;
        }
        Ok(Order { imported, olds, indices })
    }
}

/// Returns the first byte of each instruction in the body of a function.
fn opcodes(body: &FunctionBody<'_>) -> Result<Vec<u8>, wasmparser::Error> {
    let bytes = body.as_bytes();
    let start = body.range().start;
    let mut reader = body.get_operators_reader()?;
    let mut opcodes = Vec::new();
    while !reader.eof() {
        let at = reader.original_position() - start;
        opcodes.push(bytes[at as usize]);
        reader.read()?;
    }
    Ok(opcodes)
}

impl Reencode for Order {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error> {
        let place = function.checked_sub(self.imported);
        Ok(place.map_or(function, |place| self.indices[place as usize]))
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error> {
        let types = section.into_iter().collect::<Result<Vec<u32>, _>>()?;
        for old in &self.olds {
            functions.function(types[*old]);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error> {
        let bodies = section.into_iter().collect::<Result<Vec<_>, _>>()?;
        for old in self.olds.clone() {
            self.parse_function_body(code, bodies[old].clone())?;
        }
        Ok(())
    }

    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: CustomSectionReader<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wasm_encoder::{
        EntityType, ExportKind, ExportSection, Function, ImportSection, Instruction, TypeSection,
    };

    use super::*;

    /// Returns a WebAssembly module for tests. Each element of `functions` contains the
    /// instructions of one function. The functions are exported as `0`, `1` and so on. The module
    /// also imports one function.
    fn module(functions: &[&[Instruction<'_>]]) -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], []);
        let mut imports = ImportSection::new();
        imports.import("host", "now", EntityType::Function(0));
        let mut declared = FunctionSection::new();
        let mut exports = ExportSection::new();
        let mut code = CodeSection::new();
        for (place, instructions) in (0..).zip(functions) {
            declared.function(0);
            exports.export(&u32::to_string(&place), ExportKind::Func, place + 1);
            let mut function = Function::new([]);
            for instruction in *instructions {
                function.instruction(instruction);
            }
            code.function(function.instruction(&Instruction::End));
        }
        let mut module = Module::new();
        let module = module.section(&types).section(&imports).section(&declared);
        module.section(&exports).section(&code).clone().finish()
    }

    /// Returns two views of the exported functions of a module. The first maps the name of each
    /// function to its instructions. The second lists the names in the order of the module.
    fn exported(module: &[u8]) -> (BTreeMap<String, String>, Vec<String>) {
        let (mut names, mut bodies) = (BTreeMap::new(), Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload.unwrap() {
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export.unwrap();
                        names.insert(export.index, export.name.to_owned());
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let all = body.get_operators_reader().unwrap().into_iter();
                    bodies.push(format!("{:?}", all.map(Result::unwrap).collect::<Vec<_>>()));
                }
                _ => {}
            }
        }
        let body =
            |(index, name): (&u32, &String)| (name.clone(), bodies[*index as usize - 1].clone());
        (names.iter().map(body).collect(), names.values().cloned().collect())
    }

    #[test]
    fn similar_functions_become_neighbours_and_keep_their_names() {
        use Instruction::{Call, Drop, I32Const, Nop};
        let before = module(&[
            &[I32Const(1), Drop, Call(0)],
            &[Nop, Call(1)],
            &[I32Const(2), Drop, Call(0)],
            &[Nop, Nop],
        ]);
        let after = group_similar_functions(&before).unwrap();
        let (functions, order) = exported(&after);
        assert_eq!(order, ["3", "1", "0", "2"]);
        let expected = exported(&before).0;
        for name in ["0", "2", "3"] {
            assert_eq!(functions[name], expected[name]);
        }
        assert!(functions["1"].contains("Call { function_index: 3 }"), "{functions:?}");
        assert_eq!(group_similar_functions(&after).unwrap(), after);
    }

    #[test]
    fn rejects_file_that_is_no_module() {
        assert!(group_similar_functions(b"<html>").is_err());
    }
}
