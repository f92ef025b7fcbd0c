//! Checks of the names and types in an expression.

use super::error::{ExpressionError, unknown_name_remedy};
use super::formula::{
    ComparedValue, Condition, MessagePattern, NumberTerm, PathStep, ProcessTerm, PropertyInputs,
    Relation, Sign, StatePath,
};
use super::parser::LEADS_TO_ADVICE;
use super::predicates::{Predicate, PredicateMeaning, available_names};
use super::syntax::{
    Operator, PartStep, PartStepKind, Quantifier, SyntaxNode, SyntaxNodeKind, TextSpan,
};
use super::vocabulary::{SampledStateSchema, Vocabulary};

/// Checks the names and types in an expression, and converts its syntax tree into conditions and
/// terms that can be evaluated.
pub(super) struct ExpressionChecker<'a> {
    pub(super) text: &'a str,
    pub(super) vocabulary: &'a Vocabulary,
    /// Names of all variables. The index of a name in this list identifies the variable in a
    /// [`VariableAssignment`](super::VariableAssignment).
    pub(super) variables: Vec<String>,
    /// Variables in scope, each with its name and its index in [`variables`](Self::variables). A
    /// later variable hides an earlier one of the same name.
    scope: Vec<(String, usize)>,
    /// Free variables, which no quantifier binds. Each element is an index in
    /// [`variables`](Self::variables).
    pub(super) free: Vec<usize>,
    /// Kinds of input that the expression reads, as far as it is checked.
    pub(super) uses: PropertyInputs,
    /// Number of variables that the enclosing quantifiers bind.
    bound: usize,
}

/// Maximum number of nested variables that quantifiers bind. Each of them multiplies the number of
/// evaluations in a state by the size of the group.
const MAX_BOUND: usize = 4;

enum Typed<'a> {
    Condition(Condition),
    Number(NumberTerm),
    /// A number of messages. An expression may use the number as a condition, which is true if
    /// there is at least one message.
    Messages(NumberTerm),
    Process(ProcessTerm),
    /// A part of a state, with the schema of that part if it is known.
    State(StatePath, Option<&'a SampledStateSchema>),
    /// Name of an enum variant.
    Name(String),
    /// `_`, which stands for any process in a message pattern.
    Any,
}

impl Typed<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Typed::Condition(_) => "a condition",
            Typed::Number(_) | Typed::Messages(_) => "a number",
            Typed::Process(_) => "a process",
            Typed::State(..) => "a part of a state",
            Typed::Name(_) => "a name",
            Typed::Any => "'_'",
        }
    }
}

impl<'a> ExpressionChecker<'a> {
    pub(super) fn new(text: &'a str, vocabulary: &'a Vocabulary) -> Self {
        let (variables, scope, free) = (Vec::new(), Vec::new(), Vec::new());
        ExpressionChecker {
            text,
            vocabulary,
            variables,
            scope,
            free,
            uses: PropertyInputs::default(),
            bound: 0,
        }
    }

    fn error(
        &self,
        span: &TextSpan,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ExpressionError {
        ExpressionError::new(self.text, span.clone(), problem, remedy)
    }

    pub(super) fn check_condition(
        &mut self,
        node: &SyntaxNode,
    ) -> Result<Condition, ExpressionError> {
        match self.typed(node)? {
            Typed::Condition(condition) => Ok(condition),
            Typed::Messages(number) => {
                Ok(Condition::Compare(Relation::Less, NumberTerm::Constant(0), number))
            }
            Typed::State(path, _) if !path.steps.is_empty() => Ok(Condition::Holds(path)),
            other => {
                let remedy = match other {
                    Typed::Number(_) => "compare it, as in <= 1",
                    _ => "expected a predicate such as inside(p), or a comparison",
                };
                let problem = format!("expected a condition, found {}", other.name());
                Err(self.error(&node.span, problem, remedy))
            }
        }
    }

    fn number(&mut self, node: &SyntaxNode) -> Result<NumberTerm, ExpressionError> {
        match self.typed(node)? {
            Typed::Number(number) | Typed::Messages(number) => Ok(number),
            Typed::State(path, _) => {
                self.uses.state_numbers = true;
                Ok(NumberTerm::InState(path))
            }
            other => {
                let problem = format!("expected a number, found {}", other.name());
                let remedy = match other {
                    Typed::Condition(_) => "count(p: …) counts processes that meet a condition",
                    _ => "",
                };
                Err(self.error(&node.span, problem, remedy))
            }
        }
    }

    fn process_term(&mut self, node: &SyntaxNode) -> Result<ProcessTerm, ExpressionError> {
        match self.typed(node)? {
            Typed::Process(who) => Ok(who),
            Typed::State(path, _) => {
                self.uses.process_identities = true;
                Ok(ProcessTerm::InState(path))
            }
            other => {
                let problem = format!("expected a process, found {}", other.name());
                let remedy = "expected a process such as P1, or a variable such as p";
                Err(self.error(&node.span, problem, remedy))
            }
        }
    }

    fn typed(&mut self, node: &SyntaxNode) -> Result<Typed<'a>, ExpressionError> {
        Ok(match &node.kind {
            SyntaxNodeKind::Bool(value) => Typed::Condition(Condition::Constant(*value)),
            SyntaxNodeKind::Number(value) => Typed::Number(NumberTerm::Constant(*value)),
            SyntaxNodeKind::Process(number) => Typed::Process(self.process(*number, &node.span)?),
            SyntaxNodeKind::Word(word) => self.word(word, &node.span)?,
            SyntaxNodeKind::Any => Typed::Any,
            SyntaxNodeKind::Call { name, arguments } => self.call(node, name, arguments)?,
            SyntaxNodeKind::Part { of, steps } => self.part(of, steps)?,
            SyntaxNodeKind::Not(inner) => {
                Typed::Condition(Condition::Not(Box::new(self.check_condition(inner)?)))
            }
            SyntaxNodeKind::Negative(inner) => {
                Typed::Number(NumberTerm::Sum(vec![(Sign::Minus, self.number(inner)?)]))
            }
            SyntaxNodeKind::Binary { operator, left, right } => {
                self.binary(node, *operator, left, right)?
            }
            SyntaxNodeKind::Chain { first, rest } => self.chain(first, rest)?,
            SyntaxNodeKind::Quantified { quantifier, variables, body } => {
                self.quantified(*quantifier, variables, body)?
            }
        })
    }

    fn process(&mut self, number: u32, span: &TextSpan) -> Result<ProcessTerm, ExpressionError> {
        let size = self.vocabulary.group_size;
        if number == 0 || number > size {
            let remedy = format!("the group is P1 to P{size}");
            return Err(self.error(span, format!("unknown process P{number}"), remedy));
        }
        self.uses.process_identities = true;
        Ok(ProcessTerm::Fixed(number - 1))
    }

    fn word(&mut self, word: &str, span: &TextSpan) -> Result<Typed<'a>, ExpressionError> {
        let known = self.scope.iter().rev().find(|(name, _)| name == word);
        if let Some((_, place)) = known {
            return Ok(Typed::Process(ProcessTerm::Variable(*place)));
        }
        if word.starts_with(char::is_uppercase) {
            return Ok(Typed::Name(word.to_owned()));
        }
        let digits = word.strip_prefix('p').unwrap_or_default();
        if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) {
            let remedy = format!("a process is written P{digits}");
            return Err(self.error(span, format!("unknown process {word}"), remedy));
        }
        if let Some(predicate) = Predicate::find(word) {
            let remedy = format!("a predicate has arguments: {}", predicate.form);
            return Err(self.error(span, format!("`{word}` without arguments"), remedy));
        }
        let place = self.declare(word);
        self.free.push(place);
        // A free variable is visible everywhere, so it goes to the bottom of the scope.
        self.scope.insert(0, (word.to_owned(), place));
        Ok(Typed::Process(ProcessTerm::Variable(place)))
    }

    fn declare(&mut self, name: &str) -> usize {
        self.variables.push(name.to_owned());
        self.variables.len() - 1
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        variables: &[(String, TextSpan)],
        body: &SyntaxNode,
    ) -> Result<Typed<'a>, ExpressionError> {
        if let Some((_, span)) = variables.get(MAX_BOUND - self.bound) {
            let problem = format!("more than {MAX_BOUND} nested variables");
            let remedy = format!(
                "nested forall, exists and count bind at most {MAX_BOUND} variables in all"
            );
            return Err(self.error(span, problem, remedy));
        }
        self.bound += variables.len();
        let mut places = Vec::new();
        for (name, span) in variables {
            if !name.starts_with(char::is_lowercase) {
                let remedy = "a variable is a lower-case word, such as p";
                return Err(self.error(span, format!("invalid variable `{name}`"), remedy));
            }
            let place = self.declare(name);
            self.scope.push((name.clone(), place));
            places.push(place);
        }
        let mut condition = self.check_condition(body)?;
        self.bound -= variables.len();
        for (name, _) in variables {
            let place = self.scope.iter().rposition(|(known, _)| known == name);
            self.scope.remove(place.expect("the variable is in scope"));
        }
        if quantifier == Quantifier::Count {
            return Ok(Typed::Number(NumberTerm::Count(places, Box::new(condition))));
        }
        for place in places.into_iter().rev() {
            let body = Box::new(condition);
            condition = match quantifier {
                Quantifier::Forall => Condition::Forall(place, body),
                _ => Condition::Exists(place, body),
            };
        }
        Ok(Typed::Condition(condition))
    }

    fn call(
        &mut self,
        node: &SyntaxNode,
        name: &str,
        arguments: &[SyntaxNode],
    ) -> Result<Typed<'a>, ExpressionError> {
        let name_span = node.span.start..node.span.start + name.len();
        let Some(predicate) = Predicate::find(name) else {
            let remedy = unknown_name_remedy(name, &available_names(self.vocabulary), "predicates");
            return Err(self.error(&name_span, format!("unknown predicate `{name}`"), remedy));
        };
        if let Some(lacking) = predicate.missing_feature(self.vocabulary) {
            let problem = format!("`{name}` needs {lacking}, which the algorithm does not have");
            let remedy = format!("predicates: {}", available_names(self.vocabulary).join(", "));
            return Err(self.error(&name_span, problem, remedy));
        }
        if !predicate.argument_counts().contains(&arguments.len()) {
            let many = if arguments.len() == 1 { "argument" } else { "arguments" };
            let problem = format!("`{name}` with {} {many}", arguments.len());
            let remedy = format!("expected {}", predicate.form);
            return Err(self.error(&node.span, problem, remedy));
        }
        let first = &arguments[0];
        Ok(match predicate.meaning {
            PredicateMeaning::Fact(fact) => {
                self.note(fact);
                Typed::Condition(Condition::Fact(fact, self.process_term(first)?))
            }
            PredicateMeaning::Leader => {
                (self.uses.leaders, self.uses.process_identities) = (true, true);
                Typed::Process(ProcessTerm::LeaderOf(Box::new(self.process_term(first)?)))
            }
            PredicateMeaning::Term => {
                self.uses.leaders = true;
                Typed::Number(NumberTerm::ElectionTerm(self.process_term(first)?))
            }
            PredicateMeaning::Fence => {
                self.uses.fences = true;
                Typed::Number(NumberTerm::Fence(self.process_term(first)?))
            }
            PredicateMeaning::Suspects => {
                self.uses.crashes_or_suspicions = true;
                let (at, peer) = (self.process_term(first)?, self.process_term(&arguments[1])?);
                Typed::Condition(Condition::Suspects(at, peer))
            }
            PredicateMeaning::Sent => {
                self.uses.sent = true;
                Typed::Messages(NumberTerm::Sent(self.pattern(arguments)?))
            }
            PredicateMeaning::InFlight => {
                self.uses.in_flight = true;
                Typed::Messages(NumberTerm::InFlight(self.pattern(arguments)?))
            }
            PredicateMeaning::State => self.state(&node.span, first)?,
        })
    }

    fn note(&mut self, fact: super::formula::ProcessPredicate) {
        use super::formula::ProcessPredicate;
        match fact {
            ProcessPredicate::Requests | ProcessPredicate::Enters | ProcessPredicate::Exits => {
                self.uses.events = true
            }
            ProcessPredicate::Waiting | ProcessPredicate::Inside => self.uses.phases = true,
            ProcessPredicate::Leads | ProcessPredicate::KnowsLeader => self.uses.leaders = true,
            ProcessPredicate::Crashed => self.uses.crashes_or_suspicions = true,
        }
    }

    fn pattern(&mut self, arguments: &[SyntaxNode]) -> Result<MessagePattern, ExpressionError> {
        let (SyntaxNodeKind::Word(message), span) = (&arguments[0].kind, &arguments[0].span) else {
            let remedy = self.message_names("");
            return Err(self.error(&arguments[0].span, "expected the name of a message", remedy));
        };
        if let Some(known) = &self.vocabulary.messages
            && !known.contains(message)
        {
            let remedy = self.message_names(message);
            return Err(self.error(span, format!("unknown message `{message}`"), remedy));
        }
        let mut end = |place: usize| match arguments.get(place) {
            None => Ok(None),
            Some(SyntaxNode { kind: SyntaxNodeKind::Any, .. }) => Ok(None),
            Some(node) => self.process_term(node).map(Some),
        };
        Ok(MessagePattern { message: message.clone(), from: end(1)?, to: end(2)? })
    }

    fn message_names(&self, message: &str) -> String {
        let known = self.vocabulary.messages.iter().flatten().map(|it| &**it);
        unknown_name_remedy(message, &known.collect::<Vec<_>>(), "messages")
    }

    fn state(&mut self, span: &TextSpan, of: &SyntaxNode) -> Result<Typed<'a>, ExpressionError> {
        let Some(schema) = &self.vocabulary.states else {
            let remedy = "record them: `tenure simulate … --trace FILE --states`";
            return Err(self.error(span, "the trace has no states of processes", remedy));
        };
        self.uses.states = true;
        let of = Box::new(self.process_term(of)?);
        let is_known = *schema != SampledStateSchema::default();
        Ok(Typed::State(StatePath { of, steps: Vec::new() }, is_known.then_some(schema)))
    }

    /// Checks a path of fields and elements that begins at `of`.
    fn part(&mut self, of: &SyntaxNode, steps: &[PartStep]) -> Result<Typed<'a>, ExpressionError> {
        let (mut part, mut span) = (self.typed(of)?, of.span.clone());
        for PartStep { kind, end } in steps {
            part = match kind {
                PartStepKind::Field(name) => self.field(part, &span, name, *end)?,
                PartStepKind::Element(by) => self.element(part, &span, by)?,
            };
            span.end = *end;
        }
        Ok(part)
    }

    /// Checks the field `name` of `of`. `whole` is the position of `of` in the text, and `end` is
    /// the position of the end of the field.
    fn field(
        &self,
        of: Typed<'a>,
        whole: &TextSpan,
        name: &str,
        end: usize,
    ) -> Result<Typed<'a>, ExpressionError> {
        let span = end - name.len()..end;
        let (mut path, schema) = match of {
            Typed::State(path, schema) => (path, schema),
            other => {
                let problem = format!("{} has no fields", other.name());
                return Err(self.error(&span, problem, "only state(p) has fields"));
            }
        };
        let inner = schema.map(|schema| {
            schema.field(name).ok_or_else(|| {
                let whole = &self.text[whole.clone()];
                let problem = format!("{whole} has no field `{name}`");
                let known: Vec<&str> = schema.fields.iter().map(|(name, _)| &**name).collect();
                let remedy = match (known.is_empty(), &schema.element) {
                    (false, _) => unknown_name_remedy(name, &known, "fields"),
                    (true, Some(_)) => "it is a list: use [q] or [0]".to_owned(),
                    (true, None) => "it has no fields".to_owned(),
                };
                self.error(&span, problem, remedy)
            })
        });
        path.steps.push(PathStep::Field(name.to_owned()));
        Ok(Typed::State(path, inner.transpose()?))
    }

    fn element(
        &mut self,
        of: Typed<'a>,
        whole: &TextSpan,
        by: &SyntaxNode,
    ) -> Result<Typed<'a>, ExpressionError> {
        let Typed::State(mut path, schema) = of else {
            return Err(self.error(whole, "only a list of a state has elements", ""));
        };
        path.steps.push(match self.typed(by)? {
            Typed::Process(who) => PathStep::Process(who),
            Typed::Number(number) => PathStep::Number(number),
            other => {
                let problem = format!("expected a process or a number, found {}", other.name());
                return Err(self.error(&by.span, problem, ""));
            }
        });
        Ok(Typed::State(path, schema.and_then(|schema| schema.element.as_deref())))
    }

    fn binary(
        &mut self,
        node: &SyntaxNode,
        operator: Operator,
        left: &SyntaxNode,
        right: &SyntaxNode,
    ) -> Result<Typed<'a>, ExpressionError> {
        let less = |relation, left, right| Condition::Compare(relation, left, right);
        Ok(Typed::Condition(match operator {
            Operator::LeadsTo => {
                return Err(self.error(&node.span, "'~>' inside an expression", LEADS_TO_ADVICE));
            }
            Operator::Implies => {
                let (left, right) = (self.check_condition(left)?, self.check_condition(right)?);
                Condition::Or(vec![Condition::Not(Box::new(left)), right])
            }
            Operator::Or | Operator::And | Operator::Plus | Operator::Minus => {
                unreachable!("the parser joins the operands of {operator:?} to a chain")
            }
            Operator::Equal => self.equal(node, left, right)?,
            Operator::NotEqual => Condition::Not(Box::new(self.equal(node, left, right)?)),
            Operator::Less => less(Relation::Less, self.number(left)?, self.number(right)?),
            Operator::AtMost => less(Relation::AtMost, self.number(left)?, self.number(right)?),
            Operator::Greater => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                less(Relation::Less, right, left)
            }
            Operator::AtLeast => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                less(Relation::AtMost, right, left)
            }
            Operator::In => self.contains(left, right)?,
        }))
    }

    fn chain(
        &mut self,
        first: &SyntaxNode,
        rest: &[(Operator, SyntaxNode)],
    ) -> Result<Typed<'a>, ExpressionError> {
        // All operators of a chain have the same precedence.
        let first_operator = rest.first().map(|(operator, _)| *operator);
        if matches!(first_operator, Some(Operator::Plus | Operator::Minus)) {
            let mut terms = vec![(Sign::Plus, self.number(first)?)];
            for (operator, term) in rest {
                let sign = if *operator == Operator::Minus { Sign::Minus } else { Sign::Plus };
                terms.push((sign, self.number(term)?));
            }
            return Ok(Typed::Number(NumberTerm::Sum(terms)));
        }
        let mut conditions = vec![self.check_condition(first)?];
        for (_, condition) in rest {
            conditions.push(self.check_condition(condition)?);
        }
        let is_or = first_operator == Some(Operator::Or);
        let condition = if is_or { Condition::Or } else { Condition::And };
        Ok(Typed::Condition(condition(conditions)))
    }

    fn contains(
        &mut self,
        left: &SyntaxNode,
        right: &SyntaxNode,
    ) -> Result<Condition, ExpressionError> {
        let who = self.process_term(left)?;
        self.uses.process_identities = true;
        match self.typed(right)? {
            Typed::State(path, _) => Ok(Condition::Contains(path, who)),
            other => {
                let problem = format!("expected a list of a state, found {}", other.name());
                Err(self.error(&right.span, problem, "as in q in state(p).waiting"))
            }
        }
    }

    fn equal(
        &mut self,
        node: &SyntaxNode,
        left: &SyntaxNode,
        right: &SyntaxNode,
    ) -> Result<Condition, ExpressionError> {
        Ok(match (self.typed(left)?, self.typed(right)?) {
            (Typed::State(path, schema), Typed::Name(name)) => {
                self.variant(&right.span, path, schema, name)?
            }
            (Typed::Name(name), Typed::State(path, schema)) => {
                self.variant(&left.span, path, schema, name)?
            }
            (Typed::State(path, _), Typed::Condition(Condition::Constant(value)))
            | (Typed::Condition(Condition::Constant(value)), Typed::State(path, _)) => {
                Condition::State(path, ComparedValue::Bool(value))
            }
            (Typed::State(path, schema), Typed::Process(who))
            | (Typed::Process(who), Typed::State(path, schema)) => {
                self.ensure_process_possible(node, schema, &who)?;
                self.uses.process_identities = true;
                Condition::State(path, ComparedValue::Process(who))
            }
            (Typed::State(path, _), Typed::State(other, _)) => {
                (self.uses.state_numbers, self.uses.process_identities) = (true, true);
                Condition::State(path, ComparedValue::State(other))
            }
            (Typed::State(path, _), Typed::Number(number) | Typed::Messages(number))
            | (Typed::Number(number) | Typed::Messages(number), Typed::State(path, _)) => {
                self.uses.state_numbers = true;
                Condition::Compare(Relation::Equal, NumberTerm::InState(path), number)
            }
            (Typed::Process(left), Typed::Process(right)) => {
                self.uses.process_identities = true;
                Condition::Same(left, right)
            }
            (
                Typed::Number(left) | Typed::Messages(left),
                Typed::Number(right) | Typed::Messages(right),
            ) => Condition::Compare(Relation::Equal, left, right),
            (Typed::Condition(left), Typed::Condition(right)) => {
                Condition::Equivalent(Box::new(left), Box::new(right))
            }
            (left, right) => {
                let problem = format!("{} compared with {}", left.name(), right.name());
                let remedy = "expected two numbers, two processes or two conditions, or a part \
                              of a state and a value";
                return Err(self.error(&node.span, problem, remedy));
            }
        })
    }

    /// Returns an error if a part of a state is compared with a free variable although the part
    /// holds names of enum variants and never a process. The variable is then probably a name in
    /// lower case, and the comparison would be false in each state.
    fn ensure_process_possible(
        &self,
        node: &SyntaxNode,
        schema: Option<&SampledStateSchema>,
        who: &ProcessTerm,
    ) -> Result<(), ExpressionError> {
        let ProcessTerm::Variable(place) = who else { return Ok(()) };
        let Some(schema) = schema.filter(|it| !it.names.is_empty() && !it.has_processes) else {
            return Ok(());
        };
        if !self.free.contains(place) {
            return Ok(());
        }
        let name = &self.variables[*place];
        let known: Vec<&str> = schema.names.iter().map(|name| &**name).collect();
        let remedy = unknown_name_remedy(name, &known, "values");
        Err(self.error(&node.span, format!("unknown value `{name}`"), remedy))
    }

    /// Checks a comparison between a part of a state and the name of an enum variant. Returns an
    /// error if sample runs show that the part never holds this name.
    fn variant(
        &self,
        span: &TextSpan,
        path: StatePath,
        schema: Option<&SampledStateSchema>,
        name: String,
    ) -> Result<Condition, ExpressionError> {
        if let Some(schema) = schema
            && name != "None"
            && !schema.names.contains(&name)
        {
            let known: Vec<&str> = schema.names.iter().map(|name| &**name).collect();
            let remedy = match known.is_empty() {
                true => "it holds no names in sample runs".to_owned(),
                false => unknown_name_remedy(&name, &known, "values"),
            };
            return Err(self.error(span, format!("unknown value `{name}`"), remedy));
        }
        Ok(Condition::State(path, ComparedValue::Name(name)))
    }
}
