prelude
set_option bootstrap.inductiveCheckResultingUniverse false
set_option linter.unusedVariables false
set_option linter.defProp false
set_option checkBinderAnnotations false
set_option genCtorIdx false
/-! The core library of embedded Lean, module `Init`: a small stand-in for the library that Lean ships, written for this
project. Names and meanings are those of Lean's own library, so that ordinary files check.

This file declares what Lean's elaborators and kernel refer to by name, in the order in which they come to need it. -/
universe u v w x
unsafe axiom lcErased : Type
unsafe axiom lcAny : Type
unsafe axiom lcVoid : Type
unsafe axiom lcProof {α : Prop} : α
unsafe axiom lcUnreachable {α : Sort u} : α
unsafe axiom lcCast {α : Sort u} {β : Sort v} (a : α) : β

noncomputable section

inductive PUnit : Sort u where | unit : PUnit
abbrev Unit : Type := PUnit
@[match_pattern] abbrev Unit.unit : Unit := PUnit.unit
inductive True : Prop where | intro : True
inductive False : Prop
inductive Empty : Type
inductive PEmpty : Sort u
inductive Eq {α : Sort u} : α → α → Prop where | refl (a : α) : Eq a a
abbrev Eq.ndrec.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α} (h : Eq a b) : motive b := h.rec m
inductive HEq {α : Sort u} : α → {β : Sort u} → β → Prop where | refl (a : α) : HEq a a
@[inline] def id {α : Sort u} (a : α) : α := a
@[match_pattern] def rfl {α : Sort u} {a : α} : Eq a a := Eq.refl a
theorem Eq.subst {α : Sort u} {motive : α → Prop} {a b : α} (h₁ : Eq a b) (h₂ : motive a) : motive b := Eq.ndrec h₂ h₁
theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a := h.rec rfl
theorem Eq.trans {α : Sort u} {a b c : α} (h₁ : Eq a b) (h₂ : Eq b c) : Eq a c := h₂.rec h₁
@[macro_inline] def cast {α β : Sort u} (h : Eq α β) (a : α) : β := h.rec a
theorem congrArg {α : Sort u} {β : Sort v} {a₁ a₂ : α} (f : α → β) (h : Eq a₁ a₂) : Eq (f a₁) (f a₂) := h.rec rfl
theorem congr {α : Sort u} {β : Sort v} {f₁ f₂ : α → β} {a₁ a₂ : α} (h₁ : Eq f₁ f₂) (h₂ : Eq a₁ a₂) : Eq (f₁ a₁) (f₂ a₂) :=
  h₁.rec (h₂.rec rfl)
theorem congrFun {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : Eq f g) (a : α) : Eq (f a) (g a) := h.rec rfl
theorem congrFun' {α : Sort u} {β : Sort v} {f g : α → β} (h : Eq f g) (a : α) : Eq (f a) (g a) := h.rec rfl
theorem eq_of_heq {α : Sort u} {a a' : α} (h : HEq a a') : Eq a a' :=
  have aux : (α β : Sort u) → (a : α) → (b : β) → HEq a b → (h : Eq α β) → Eq (cast h a) b :=
    fun _ _ _ _ h₁ => h₁.rec (fun _ => rfl)
  aux α α a a' h rfl
theorem heq_of_eq {α : Sort u} {a a' : α} (h : Eq a a') : HEq a a' := h.rec (HEq.refl a)
theorem HEq.rfl {α : Sort u} {a : α} : HEq a a := HEq.refl a
theorem HEq.symm {α β : Sort u} {a : α} {b : β} (h : HEq a b) : HEq b a := h.rec (HEq.refl a)
theorem HEq.trans {α β φ : Sort u} {a : α} {b : β} {c : φ} (h₁ : HEq a b) (h₂ : HEq b c) : HEq a c := h₂.rec h₁
structure PProd (α : Sort u) (β : Sort v) where
  fst : α
  snd : β
structure Prod (α : Type u) (β : Type v) where
  fst : α
  snd : β
structure MProd (α β : Type u) where
  fst : α
  snd : β
structure And (a b : Prop) : Prop where
  intro ::
  left : a
  right : b
inductive Or (a b : Prop) : Prop where
  | inl (h : a) : Or a b
  | inr (h : b) : Or a b
structure Iff (a b : Prop) : Prop where
  intro ::
  mp : a → b
  mpr : b → a
def Not (a : Prop) : Prop := a → False
inductive Exists {α : Sort u} (p : α → Prop) : Prop where
  | intro (w : α) (h : p w) : Exists p
structure Subtype {α : Sort u} (p : α → Prop) where
  val : α
  property : p val
structure Sigma {α : Type u} (β : α → Type v) where
  fst : α
  snd : β fst
structure PSigma {α : Sort u} (β : α → Sort v) where
  fst : α
  snd : β fst
inductive PSum (α : Sort u) (β : Sort v) where
  | inl (val : α) : PSum α β
  | inr (val : β) : PSum α β
inductive Sum (α : Type u) (β : Type v) where
  | inl (val : α) : Sum α β
  | inr (val : β) : Sum α β

structure PULift.{r, s} (α : Sort s) : Sort (max s r 1) where
  up ::
  down : α
structure ULift.{r, s} (α : Type s) : Type (max s r) where
  up ::
  down : α
@[inline] def inferInstance {α : Sort u} [i : α] : α := i
@[reducible] def outParam (α : Sort u) : Sort u := α
@[reducible] def semiOutParam (α : Sort u) : Sort u := α
@[reducible] def optParam (α : Sort u) (default : α) : Sort u := α
abbrev Function.comp {α : Sort u} {β : Sort v} {δ : Sort w} (f : β → δ) (g : α → β) : α → δ := fun x => f (g x)
abbrev Function.const {α : Sort u} (β : Sort v) (a : α) : β → α := fun _ => a
@[macro_inline] def False.elim {C : Sort u} (h : False) : C := h.rec
@[macro_inline] def absurd {a : Prop} {b : Sort v} (h₁ : a) (h₂ : Not a) : b := (h₂ h₁).rec
theorem trivial : True := ⟨⟩
def Eq.mp {α β : Sort u} (h : Eq α β) (a : α) : β := h.rec a
def Eq.mpr {α β : Sort u} (h : Eq α β) (b : β) : α := h.symm.rec b
abbrev Ne {α : Sort u} (a b : α) : Prop := Not (Eq a b)
init_quot
axiom propext {a b : Prop} : Iff a b → Eq a b
axiom Quot.sound {α : Sort u} {r : α → α → Prop} {a b : α} : r a b → Eq (Quot.mk r a) (Quot.mk r b)
class inductive Nonempty (α : Sort u) : Prop where | intro (val : α) : Nonempty α
axiom Classical.choice {α : Sort u} : Nonempty α → α
class Inhabited (α : Sort u) where
  default : α
export Inhabited (default)
class Subsingleton (α : Sort u) : Prop where
  intro ::
  allEq : (a b : α) → Eq a b
theorem Subsingleton.elim {α : Sort u} [h : Subsingleton α] (a b : α) : Eq a b := h.allEq a b

inductive Bool : Type where | false : Bool | true : Bool
export Bool (false true)
inductive Nat where
  | zero : Nat
  | succ (n : Nat) : Nat
class OfNat (α : Type u) (_ : Nat) where
  ofNat : α
@[default_instance 100] instance instOfNatNat (n : Nat) : OfNat Nat n := ⟨n⟩
class inductive Decidable (p : Prop) where
  | isFalse (h : Not p) : Decidable p
  | isTrue (h : p) : Decidable p
@[inline_if_reduce, nospecialize] def Decidable.decide (p : Prop) [h : Decidable p] : Bool :=
  h.casesOn (fun _ => false) (fun _ => true)
export Decidable (isTrue isFalse decide)
abbrev DecidablePred {α : Sort u} (r : α → Prop) := (a : α) → Decidable (r a)
abbrev DecidableRel {α : Sort u} {β : Sort v} (r : α → β → Prop) := (a : α) → (b : β) → Decidable (r a b)
abbrev DecidableEq (α : Sort u) := (a b : α) → Decidable (Eq a b)
def decEq {α : Sort u} [inst : DecidableEq α] (a b : α) : Decidable (Eq a b) := inst a b
@[macro_inline] def ite {α : Sort u} (c : Prop) [h : Decidable c] (t e : α) : α :=
  h.casesOn (fun _ => e) (fun _ => t)
@[macro_inline] def dite {α : Sort u} (c : Prop) [h : Decidable c] (t : c → α) (e : Not c → α) : α :=
  h.casesOn e t
@[macro_inline] def cond {α : Sort u} (c : Bool) (x y : α) : α := c.casesOn y x
@[macro_inline] def Bool.or (x y : Bool) : Bool := x.casesOn y true
@[macro_inline] def Bool.and (x y : Bool) : Bool := x.casesOn false y
@[inline] def Bool.not (x : Bool) : Bool := x.casesOn true false
export Bool (or and not)
inductive List (α : Type u) where
  | nil : List α
  | cons (head : α) (tail : List α) : List α
inductive Option (α : Type u) where
  | none : Option α
  | some (val : α) : Option α
export Option (none some)
/-! Strings: literals type check and unfold in the kernel; no library on top. -/
structure Char where
  ofNat :: toNat : Nat
structure String where
  ofList :: toList : List Char

class BEq (α : Type u) where beq : α → α → Bool
class LE (α : Type u) where le : α → α → Prop
class LT (α : Type u) where lt : α → α → Prop
@[reducible] def GE.ge {α : Type u} [LE α] (a b : α) : Prop := LE.le b a
@[reducible] def GT.gt {α : Type u} [LT α] (a b : α) : Prop := LT.lt b a
class HAdd (α : Type u) (β : Type v) (γ : outParam (Type w)) where hAdd : α → β → γ
class HSub (α : Type u) (β : Type v) (γ : outParam (Type w)) where hSub : α → β → γ
class HMul (α : Type u) (β : Type v) (γ : outParam (Type w)) where hMul : α → β → γ
class HDiv (α : Type u) (β : Type v) (γ : outParam (Type w)) where hDiv : α → β → γ
class HMod (α : Type u) (β : Type v) (γ : outParam (Type w)) where hMod : α → β → γ
class HPow (α : Type u) (β : Type v) (γ : outParam (Type w)) where hPow : α → β → γ
class HAppend (α : Type u) (β : Type v) (γ : outParam (Type w)) where hAppend : α → β → γ
class Add (α : Type u) where add : α → α → α
class Sub (α : Type u) where sub : α → α → α
class Mul (α : Type u) where mul : α → α → α
class Div (α : Type u) where div : α → α → α
class Mod (α : Type u) where mod : α → α → α
class Neg (α : Type u) where neg : α → α
class Pow (α : Type u) (β : Type v) where pow : α → β → α
class NatPow (α : Type u) where pow : α → Nat → α
class Append (α : Type u) where append : α → α → α
class Dvd (α : Type u) where dvd : α → α → Prop
class Zero (α : Type u) where zero : α
class One (α : Type u) where one : α
class Membership (α : outParam (Type u)) (γ : Type v) where mem : γ → α → Prop
class Max (α : Type u) where max : α → α → α
class Min (α : Type u) where min : α → α → α
export Max (max)
export Min (min)
class HasEquiv (α : Sort u) where Equiv : α → α → Sort v
class EmptyCollection (α : Type u) where emptyCollection : α
class NatCast (R : Type u) where natCast : Nat → R
class IntCast (R : Type u) where intCast : Nat → R
@[default_instance] instance instHAdd {α : Type u} [Add α] : HAdd α α α := ⟨Add.add⟩
@[default_instance] instance instHSub {α : Type u} [Sub α] : HSub α α α := ⟨Sub.sub⟩
@[default_instance] instance instHMul {α : Type u} [Mul α] : HMul α α α := ⟨Mul.mul⟩
@[default_instance] instance instHDiv {α : Type u} [Div α] : HDiv α α α := ⟨Div.div⟩
@[default_instance] instance instHMod {α : Type u} [Mod α] : HMod α α α := ⟨Mod.mod⟩
@[default_instance] instance instHPow {α : Type u} {β : Type v} [Pow α β] : HPow α β α := ⟨Pow.pow⟩
@[default_instance 10000] instance instPowNat' {α : Type u} [NatPow α] : Pow α Nat := ⟨NatPow.pow⟩
@[default_instance] instance instHAppendOfAppend {α : Type u} [Append α] : HAppend α α α := ⟨Append.append⟩

/-! Coercions (one-step chains only). -/
class CoeFun (α : Sort u) (γ : outParam (α → Sort v)) where coe : (f : α) → γ f
class CoeSort (α : Sort u) (β : outParam (Sort v)) where coe : α → β
class Coe (α : semiOutParam (Sort u)) (β : Sort v) where coe : α → β
class CoeDep (α : Sort u) (_ : α) (β : Sort v) where coe : β
class CoeT (α : Sort u) (_ : α) (β : Sort v) where coe : β
instance coeOfCoe {α : Sort u} {β : Sort v} (a : α) [Coe α β] : CoeT α a β := ⟨Coe.coe a⟩
instance coeOfDep {α : Sort u} {β : Sort v} (a : α) [CoeDep α a β] : CoeT α a β := ⟨CoeDep.coe a⟩

attribute [coe_decl] CoeT.coe Coe.coe CoeDep.coe CoeFun.coe CoeSort.coe

/-! Meta types the front end names. -/
inductive Lean.Name where
  | anonymous : Name
  | str (pre : Name) (s : String) : Name
  | num (pre : Name) (i : Nat) : Name
/-! Native names carry a cached hash, so code must build them through the native constructors. -/
@[extern "x"] def Lean.Name.str._override (p : Lean.Name) (s : String) : Lean.Name := p
@[extern "x"] def Lean.Name.num._override (p : Lean.Name) (i : Nat) : Lean.Name := p
attribute [implemented_by Lean.Name.str._override] Lean.Name.str
attribute [implemented_by Lean.Name.num._override] Lean.Name.num
abbrev Lean.Name.mkStr (p : Name) (s : String) : Name := .str p s
abbrev Lean.Name.mkSimple (s : String) : Name := .str .anonymous s
abbrev Lean.Name.mkStr1 (a : String) : Name := .str .anonymous a
abbrev Lean.Name.mkStr2 (a b : String) : Name := .str (.mkStr1 a) b
abbrev Lean.Name.mkStr3 (a b c : String) : Name := .str (.mkStr2 a b) c
abbrev Lean.Name.mkStr4 (a b c d : String) : Name := .str (.mkStr3 a b c) d
abbrev Lean.Name.mkNum (p : Name) (n : Nat) : Name := .num p n
inductive Lean.ParserDescr : Type where
  | const (name : Name)
  | unary (name : Name) (p : ParserDescr)
  | binary (name : Name) (p₁ p₂ : ParserDescr)
  | node (kind : Name) (prec : Nat) (p : ParserDescr)
  | trailingNode (kind : Name) (prec lhsPrec : Nat) (p : ParserDescr)
  | symbol (val : String)
  | nonReservedSymbol (val : String) (includeIdent : Bool)
  | cat (catName : Name) (rbp : Nat)
  | parser (declName : Name)
abbrev Lean.TrailingParserDescr := Lean.ParserDescr
structure Lean.Parser.Category
/-! Syntax trees, macros and printers, as far as the native ones need them. Memory layout follows the native types. -/
structure Array (α : Type u) where
  mk ::
  toList : List α
axiom Substring.Raw : Type
abbrev Lean.SyntaxNodeKind := Lean.Name
abbrev Lean.SyntaxNodeKinds := List Lean.SyntaxNodeKind
abbrev Lean.MacroScope := Nat
axiom Lean.SourceInfo : Type
inductive Lean.Syntax.Preresolved where
  | namespace (ns : Lean.Name)
  | decl (n : Lean.Name) (fields : List String)
inductive Lean.Syntax where
  | missing : Syntax
  | node (info : Lean.SourceInfo) (kind : Lean.SyntaxNodeKind) (args : Array Syntax) : Syntax
  | atom (info : Lean.SourceInfo) (val : String) : Syntax
  | ident (info : Lean.SourceInfo) (rawVal : Substring.Raw) (val : Lean.Name) (preresolved : List Lean.Syntax.Preresolved) : Syntax
structure Lean.TSyntax (ks : Lean.SyntaxNodeKinds) where
  raw : Lean.Syntax
abbrev Lean.Term := Lean.TSyntax (List.cons (Lean.Name.mkSimple "term") List.nil)
@[reducible] def autoParam (α : Sort u) (tac : Lean.Syntax) : Sort u := α
inductive EStateM.Result (ε σ α : Type u) : Type u where
  | ok : α → σ → Result ε σ α
  | error : ε → σ → Result ε σ α
axiom Lean.Macro.Context : Type
axiom Lean.Macro.State : Type
inductive Lean.Macro.Exception where
  | error : Lean.Syntax → String → Exception
  | unsupportedSyntax : Exception
def Lean.MacroM (α : Type) : Type := Lean.Macro.Context → Lean.Macro.State → EStateM.Result Lean.Macro.Exception Lean.Macro.State α
def Lean.Macro : Type := Lean.Syntax → Lean.MacroM Lean.Syntax
def Lean.PrettyPrinter.Unexpander : Type := Lean.Syntax → Lean.Syntax → Unit → EStateM.Result Unit Unit Lean.Syntax
@[never_extract, extern "lean_sorry"] axiom sorryAx (α : Sort u) (synthetic := false) : α
