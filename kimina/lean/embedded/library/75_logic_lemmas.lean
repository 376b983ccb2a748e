/-! More of logic, under the names of Lean's library. -/
theorem not_and : ¬(p ∧ q) ↔ (p → ¬q) := ⟨fun h x y => h ⟨x, y⟩, fun h k => h k.1 k.2⟩
theorem not_and' : ¬(p ∧ q) ↔ (q → ¬p) := ⟨fun h y x => h ⟨x, y⟩, fun h k => h k.2 k.1⟩
theorem and_imp : (p ∧ q → r) ↔ (p → q → r) := ⟨fun h x y => h ⟨x, y⟩, fun h k => h k.1 k.2⟩
theorem or_imp : (p ∨ q → r) ↔ (p → r) ∧ (q → r) :=
  ⟨fun h => ⟨fun x => h (.inl x), fun x => h (.inr x)⟩, fun h k => k.elim h.1 h.2⟩
theorem imp_false : (p → False) ↔ ¬p := Iff.rfl
theorem imp_not_comm : (p → ¬q) ↔ (q → ¬p) := ⟨fun h y x => h x y, fun h x y => h y x⟩
theorem imp_and : (p → q ∧ r) ↔ (p → q) ∧ (p → r) :=
  ⟨fun h => ⟨fun x => (h x).1, fun x => (h x).2⟩, fun h x => ⟨h.1 x, h.2 x⟩⟩
theorem not_and_self_iff (a : Prop) : ¬a ∧ a ↔ False := ⟨fun h => h.1 h.2, False.elim⟩
theorem and_not_self_iff (a : Prop) : a ∧ ¬a ↔ False := ⟨fun h => h.2 h.1, False.elim⟩
@[simp] theorem and_not_self : ¬(a ∧ ¬a) := fun h => h.2 h.1
@[simp] theorem not_and_self : ¬(¬a ∧ a) := fun h => h.1 h.2
theorem not_not_not : ¬¬¬a ↔ ¬a := ⟨fun h x => h fun k => k x, fun h k => k h⟩
theorem not_not_em (a : Prop) : ¬¬(a ∨ ¬a) := fun h => h (.inr fun x => h (.inl x))
theorem not_iff_self : ¬(¬a ↔ a) := fun h => (fun n : ¬a => n (h.mp n)) fun x => h.mpr x x
theorem iff_not_self : ¬(a ↔ ¬a) := fun h => not_iff_self h.symm
theorem iff_comm : (a ↔ b) ↔ (b ↔ a) := ⟨Iff.symm, Iff.symm⟩
theorem Iff.comm : (a ↔ b) ↔ (b ↔ a) := iff_comm
theorem iff_def : (a ↔ b) ↔ (a → b) ∧ (b → a) := ⟨fun h => ⟨h.mp, h.mpr⟩, fun h => ⟨h.1, h.2⟩⟩
theorem Iff.not (h : a ↔ b) : ¬a ↔ ¬b := ⟨mt h.mpr, mt h.mp⟩
theorem not_congr (h : a ↔ b) : ¬a ↔ ¬b := h.not
theorem and_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : a ∧ b ↔ c ∧ d :=
  ⟨fun h => ⟨h₁.mp h.1, h₂.mp h.2⟩, fun h => ⟨h₁.mpr h.1, h₂.mpr h.2⟩⟩
theorem or_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : a ∨ b ↔ c ∨ d :=
  ⟨fun h => h.elim (fun x => .inl (h₁.mp x)) fun x => .inr (h₂.mp x),
   fun h => h.elim (fun x => .inl (h₁.mpr x)) fun x => .inr (h₂.mpr x)⟩
theorem imp_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : (a → b) ↔ (c → d) :=
  ⟨fun h x => h₂.mp (h (h₁.mpr x)), fun h x => h₂.mpr (h (h₁.mp x))⟩
theorem iff_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : (a ↔ b) ↔ (c ↔ d) :=
  ⟨fun h => h₁.symm.trans (h.trans h₂), fun h => h₁.trans (h.trans h₂.symm)⟩
theorem or_assoc : (a ∨ b) ∨ c ↔ a ∨ (b ∨ c) :=
  ⟨fun h => h.elim (fun k => k.elim .inl fun x => .inr (.inl x)) fun x => .inr (.inr x),
   fun h => h.elim (fun x => .inl (.inl x)) fun k => k.elim (fun x => .inl (.inr x)) .inr⟩
theorem and_left_comm : a ∧ b ∧ c ↔ b ∧ a ∧ c :=
  ⟨fun h => ⟨h.2.1, h.1, h.2.2⟩, fun h => ⟨h.2.1, h.1, h.2.2⟩⟩
theorem and_right_comm : (a ∧ b) ∧ c ↔ (a ∧ c) ∧ b :=
  ⟨fun h => ⟨⟨h.1.1, h.2⟩, h.1.2⟩, fun h => ⟨⟨h.1.1, h.2⟩, h.1.2⟩⟩
theorem or_left_comm : a ∨ b ∨ c ↔ b ∨ a ∨ c :=
  ⟨fun h => h.elim (fun x => .inr (.inl x)) fun k => k.elim .inl fun x => .inr (.inr x),
   fun h => h.elim (fun x => .inr (.inl x)) fun k => k.elim .inl fun x => .inr (.inr x)⟩
theorem and_or_left : a ∧ (b ∨ c) ↔ (a ∧ b) ∨ (a ∧ c) :=
  ⟨fun h => h.2.elim (fun x => .inl ⟨h.1, x⟩) fun x => .inr ⟨h.1, x⟩,
   fun h => h.elim (fun x => ⟨x.1, .inl x.2⟩) fun x => ⟨x.1, .inr x.2⟩⟩
theorem or_and_right : (a ∨ b) ∧ c ↔ (a ∧ c) ∨ (b ∧ c) :=
  ⟨fun h => h.1.elim (fun x => .inl ⟨x, h.2⟩) fun x => .inr ⟨x, h.2⟩,
   fun h => h.elim (fun x => ⟨.inl x.1, x.2⟩) fun x => ⟨.inr x.1, x.2⟩⟩
theorem or_and_left : a ∨ (b ∧ c) ↔ (a ∨ b) ∧ (a ∨ c) :=
  ⟨fun h => h.elim (fun x => ⟨.inl x, .inl x⟩) fun x => ⟨.inr x.1, .inr x.2⟩,
   fun h => h.1.elim .inl fun x => h.2.elim .inl fun y => .inr ⟨x, y⟩⟩
theorem and_or_right : (a ∧ b) ∨ c ↔ (a ∨ c) ∧ (b ∨ c) :=
  ⟨fun h => h.elim (fun x => ⟨.inl x.1, .inl x.2⟩) fun x => ⟨.inr x, .inr x⟩,
   fun h => h.1.elim (fun x => h.2.elim (fun y => .inl ⟨x, y⟩) .inr) .inr⟩
theorem and_iff_left (hb : b) : a ∧ b ↔ a := ⟨And.left, fun x => ⟨x, hb⟩⟩
theorem and_iff_right (ha : a) : a ∧ b ↔ b := ⟨And.right, fun x => ⟨ha, x⟩⟩
theorem or_iff_left (nb : ¬b) : a ∨ b ↔ a := ⟨fun h => h.resolve_right nb, .inl⟩
theorem or_iff_right (na : ¬a) : a ∨ b ↔ b := ⟨fun h => h.resolve_left na, .inr⟩
theorem or_iff_left_of_imp (h : b → a) : a ∨ b ↔ a := ⟨fun k => k.elim id h, .inl⟩
theorem or_iff_right_of_imp (h : a → b) : a ∨ b ↔ b := ⟨fun k => k.elim h id, .inr⟩
theorem iff_true_intro (h : a) : a ↔ True := iff_of_true h trivial
theorem iff_false_intro (h : ¬a) : a ↔ False := iff_of_false h id
theorem Or.imp (f : a → c) (g : b → d) (h : a ∨ b) : c ∨ d := h.elim (fun x => .inl (f x)) fun x => .inr (g x)
theorem Or.imp_left (f : a → b) (h : a ∨ c) : b ∨ c := h.imp f id
theorem Or.imp_right (f : b → c) (h : a ∨ b) : a ∨ c := h.imp id f
theorem And.imp (f : a → c) (g : b → d) (h : a ∧ b) : c ∧ d := ⟨f h.1, g h.2⟩
theorem And.imp_left (f : a → b) (h : a ∧ c) : b ∧ c := h.imp f id
theorem And.imp_right (f : b → c) (h : a ∧ b) : a ∧ c := h.imp id f
def And.elim {α : Sort u} (f : a → b → α) (h : a ∧ b) : α := f h.1 h.2
theorem eq_comm {α : Sort u} {x y : α} : x = y ↔ y = x := ⟨Eq.symm, Eq.symm⟩
theorem ne_comm {α : Sort u} {x y : α} : x ≠ y ↔ y ≠ x := ⟨Ne.symm, Ne.symm⟩
theorem Ne.elim {α : Sort u} {x y : α} (h : x ≠ y) : x = y → False := h
theorem ne_of_apply_ne {α : Sort u} {β : Sort v} {x y : α} (f : α → β) (h : f x ≠ f y) : x ≠ y :=
  fun e => h (congrArg f e)
theorem congrArg₂ {α : Sort u} {β : Sort v} {γ : Sort w} (f : α → β → γ) {x x' : α} {y y' : β} (hx : x = x')
    (hy : y = y') : f x y = f x' y' := hx ▸ hy ▸ rfl

/-! quantifiers -/
theorem forall_and {α : Sort u} {p q : α → Prop} : (∀ x, p x ∧ q x) ↔ (∀ x, p x) ∧ (∀ x, q x) :=
  ⟨fun h => ⟨fun x => (h x).1, fun x => (h x).2⟩, fun h x => ⟨h.1 x, h.2 x⟩⟩
theorem exists_or {α : Sort u} {p q : α → Prop} : (∃ x, p x ∨ q x) ↔ (∃ x, p x) ∨ (∃ x, q x) :=
  ⟨fun ⟨x, h⟩ => h.elim (fun k => .inl ⟨x, k⟩) fun k => .inr ⟨x, k⟩,
   fun h => h.elim (fun ⟨x, k⟩ => ⟨x, .inl k⟩) fun ⟨x, k⟩ => ⟨x, .inr k⟩⟩
theorem exists_imp {α : Sort u} {p : α → Prop} {b : Prop} : ((∃ x, p x) → b) ↔ ∀ x, p x → b :=
  ⟨fun h x k => h ⟨x, k⟩, fun h ⟨x, k⟩ => h x k⟩
@[simp] theorem forall_exists_index {α : Sort u} {p : α → Prop} {q : (∃ x, p x) → Prop} :
    (∀ h, q h) ↔ ∀ x (h : p x), q ⟨x, h⟩ := ⟨fun f x h => f ⟨x, h⟩, fun f ⟨x, h⟩ => f x h⟩
@[simp] theorem exists_prop : (∃ _ : a, b) ↔ a ∧ b := ⟨fun ⟨x, y⟩ => ⟨x, y⟩, fun ⟨x, y⟩ => ⟨x, y⟩⟩
@[simp] theorem exists_and_left {α : Sort u} {p : α → Prop} {b : Prop} : (∃ x, b ∧ p x) ↔ b ∧ ∃ x, p x :=
  ⟨fun ⟨x, k, h⟩ => ⟨k, x, h⟩, fun ⟨k, x, h⟩ => ⟨x, k, h⟩⟩
@[simp] theorem exists_and_right {α : Sort u} {p : α → Prop} {b : Prop} : (∃ x, p x ∧ b) ↔ (∃ x, p x) ∧ b :=
  ⟨fun ⟨x, h, k⟩ => ⟨⟨x, h⟩, k⟩, fun ⟨⟨x, h⟩, k⟩ => ⟨x, h, k⟩⟩
@[simp] theorem exists_eq {α : Sort u} {a : α} : ∃ x, x = a := ⟨a, rfl⟩
@[simp] theorem exists_eq' {α : Sort u} {a : α} : ∃ x, a = x := ⟨a, rfl⟩
@[simp] theorem forall_eq {α : Sort u} {p : α → Prop} {a : α} : (∀ x, x = a → p x) ↔ p a :=
  ⟨fun h => h a rfl, fun h x e => e ▸ h⟩
@[simp] theorem forall_eq' {α : Sort u} {p : α → Prop} {a : α} : (∀ x, a = x → p x) ↔ p a :=
  ⟨fun h => h a rfl, fun h x e => e ▸ h⟩
theorem forall_comm {α : Sort u} {β : Sort v} {p : α → β → Prop} : (∀ x y, p x y) ↔ ∀ y x, p x y :=
  ⟨fun h y x => h x y, fun h x y => h y x⟩
theorem exists_comm {α : Sort u} {β : Sort v} {p : α → β → Prop} : (∃ x y, p x y) ↔ ∃ y x, p x y :=
  ⟨fun ⟨x, y, h⟩ => ⟨y, x, h⟩, fun ⟨y, x, h⟩ => ⟨x, y, h⟩⟩
theorem Exists.imp {α : Sort u} {p q : α → Prop} (f : ∀ x, p x → q x) : (∃ x, p x) → ∃ x, q x :=
  fun ⟨x, h⟩ => ⟨x, f x h⟩
theorem not_forall_of_exists_not {α : Sort u} {p : α → Prop} : (∃ x, ¬p x) → ¬∀ x, p x := fun ⟨x, n⟩ h => n (h x)

/-! decidable propositions -/
theorem Decidable.not_not [Decidable p] : ¬¬p ↔ p := ⟨Decidable.of_not_not, not_not_intro⟩
theorem Decidable.imp_iff_not_or [Decidable p] : (p → q) ↔ (¬p ∨ q) :=
  ⟨fun h => (Decidable.em p).elim (fun x => .inr (h x)) .inl, fun h x => h.elim (fun n => absurd x n) id⟩
theorem Decidable.not_and_iff_or_not_not [Decidable p] : ¬(p ∧ q) ↔ ¬p ∨ ¬q :=
  ⟨fun h => (Decidable.em p).elim (fun x => .inr fun y => h ⟨x, y⟩) .inl, fun h k => h.elim (· k.1) (· k.2)⟩
theorem Decidable.not_imp_comm [Decidable p] [Decidable q] : (¬p → q) ↔ (¬q → p) :=
  ⟨fun h n => Decidable.byContradiction fun k => n (h k), fun h n => Decidable.byContradiction fun k => n (h k)⟩
theorem Decidable.not_imp_not [Decidable p] : (¬p → ¬q) ↔ (q → p) :=
  ⟨fun h y => Decidable.byContradiction fun n => h n y, fun h n y => n (h y)⟩
@[simp] theorem decide_eq_false_iff_not [Decidable p] : (decide p = false) ↔ ¬p := ⟨of_decide_eq_false, decide_eq_false⟩
@[simp] theorem decide_true : decide True = true := rfl
@[simp] theorem decide_false : decide False = false := rfl

/-! functions -/
@[simp] theorem id_eq {α : Sort u} (a : α) : id a = a := rfl
@[simp] theorem Function.comp_apply {α : Sort u} {β : Sort v} {δ : Sort w} {f : β → δ} {g : α → β} {x : α} :
    (f ∘ g) x = f (g x) := rfl
theorem Function.const_apply {α : Sort u} {β : Sort v} {x : β} {y : α} : Function.const α x y = x := rfl

/-! truth values -/
def bne {α : Type u} [BEq α] (a b : α) : Bool := not (BEq.beq a b)
def xor (a b : Bool) : Bool := cond a (not b) b
instance instBEqOfDecidableEq {α : Type u} [DecidableEq α] : BEq α := ⟨fun a b => decide (a = b)⟩
class LawfulBEq (α : Type u) [BEq α] : Prop where
  eq_of_beq : ∀ {a b : α}, (a == b) = true → a = b
  rfl : ∀ {a : α}, (a == a) = true
instance {α : Type u} [DecidableEq α] : LawfulBEq α := ⟨of_decide_eq_true, decide_eq_true rfl⟩
theorem eq_of_beq {α : Type u} [BEq α] [LawfulBEq α] {a b : α} (h : (a == b) = true) : a = b := LawfulBEq.eq_of_beq h
@[simp] theorem beq_self_eq_true {α : Type u} [BEq α] [LawfulBEq α] (a : α) : (a == a) = true := LawfulBEq.rfl
@[simp] theorem beq_iff_eq {α : Type u} [BEq α] [LawfulBEq α] {a b : α} : (a == b) = true ↔ a = b :=
  ⟨eq_of_beq, fun h => h ▸ beq_self_eq_true a⟩
namespace Bool
@[simp] theorem not_true : (!true) = false := rfl
@[simp] theorem not_false : (!false) = true := rfl
@[simp] theorem not_not (b : Bool) : (!!b) = b := match b with | true => rfl | false => rfl
@[simp] theorem and_true (b : Bool) : (b && true) = b := match b with | true => rfl | false => rfl
@[simp] theorem true_and (b : Bool) : (true && b) = b := rfl
@[simp] theorem and_false (b : Bool) : (b && false) = false := match b with | true => rfl | false => rfl
@[simp] theorem false_and (b : Bool) : (false && b) = false := rfl
@[simp] theorem or_true (b : Bool) : (b || true) = true := match b with | true => rfl | false => rfl
@[simp] theorem true_or (b : Bool) : (true || b) = true := rfl
@[simp] theorem or_false (b : Bool) : (b || false) = b := match b with | true => rfl | false => rfl
@[simp] theorem false_or (b : Bool) : (false || b) = b := rfl
@[simp] theorem and_self (b : Bool) : (b && b) = b := match b with | true => rfl | false => rfl
@[simp] theorem or_self (b : Bool) : (b || b) = b := match b with | true => rfl | false => rfl
@[simp] theorem and_eq_true (a b : Bool) : ((a && b) = true) = (a = true ∧ b = true) :=
  propext (match a, b with
    | true, true => ⟨fun _ => ⟨rfl, rfl⟩, fun _ => rfl⟩
    | true, false => ⟨fun h => absurd h false_ne_true, fun h => h.2⟩
    | false, _ => ⟨fun h => absurd h false_ne_true, fun h => h.1⟩)
@[simp] theorem or_eq_true (a b : Bool) : ((a || b) = true) = (a = true ∨ b = true) :=
  propext (match a, b with
    | true, _ => ⟨fun _ => .inl rfl, fun _ => rfl⟩
    | false, true => ⟨fun _ => .inr rfl, fun _ => rfl⟩
    | false, false => ⟨.inl, fun h => h.elim id id⟩)
theorem and_comm (a b : Bool) : (a && b) = (b && a) :=
  match a, b with | true, true => rfl | true, false => rfl | false, true => rfl | false, false => rfl
theorem or_comm (a b : Bool) : (a || b) = (b || a) :=
  match a, b with | true, true => rfl | true, false => rfl | false, true => rfl | false, false => rfl
theorem eq_false_or_eq_true (b : Bool) : b = true ∨ b = false := match b with | true => .inl rfl | false => .inr rfl
end Bool
@[simp] theorem Bool.false_eq_true : (false = true) = False := eq_false false_ne_true
@[simp] theorem Bool.true_eq_false : (true = false) = False := eq_false true_ne_false
@[simp] theorem Bool.not_eq_true (b : Bool) : (¬b = true) = (b = false) :=
  match b with
  | true => propext ⟨fun h => absurd rfl h, fun h => absurd h true_ne_false⟩
  | false => propext ⟨fun _ => rfl, fun _ => false_ne_true⟩

/-- Lean's elaborator uses this name when it proves that constructors of several fields are injective. -/
theorem Lean.injEq_helper {P Q R : Prop} (h : P → Q → R) (k : P ∧ Q) : R := h k.1 k.2
