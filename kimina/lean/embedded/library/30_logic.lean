/-! Logic: connectives, equality, quantifiers, extensionality, decidability. -/
set_option autoImplicit false
variable {a b c d p q r : Prop}

theorem Iff.refl (a : Prop) : a ↔ a := ⟨fun h => h, fun h => h⟩
protected theorem Iff.rfl {a : Prop} : a ↔ a := Iff.refl a
theorem Iff.symm (h : a ↔ b) : b ↔ a := ⟨h.mpr, h.mp⟩
theorem Iff.trans (h₁ : a ↔ b) (h₂ : b ↔ c) : a ↔ c := ⟨fun x => h₂.mp (h₁.mp x), fun x => h₁.mpr (h₂.mpr x)⟩
theorem Iff.of_eq (h : a = b) : a ↔ b := h ▸ Iff.refl a
theorem And.symm (h : a ∧ b) : b ∧ a := ⟨h.right, h.left⟩
theorem Or.symm (h : a ∨ b) : b ∨ a := match h with | .inl x => .inr x | .inr x => .inl x
theorem Or.elim (h : a ∨ b) (l : a → c) (r : b → c) : c := match h with | .inl x => l x | .inr x => r x
theorem Or.resolve_left (h : a ∨ b) (na : ¬a) : b := h.elim (fun x => absurd x na) id
theorem Or.resolve_right (h : a ∨ b) (nb : ¬b) : a := h.elim id (fun x => absurd x nb)
theorem Exists.elim {α : Sort u} {p : α → Prop} {b : Prop} (h : ∃ x, p x) (f : ∀ a, p a → b) : b := match h with | ⟨w, hw⟩ => f w hw
theorem mt (h : a → b) (nb : ¬b) : ¬a := fun ha => nb (h ha)
theorem not_not_intro (h : a) : ¬¬a := fun n => n h
def Not.elim {α : Sort u} (h : ¬a) (ha : a) : α := absurd ha h
theorem Ne.symm {α : Sort u} {x y : α} (h : x ≠ y) : y ≠ x := fun e => h e.symm
theorem Ne.intro {α : Sort u} {x y : α} (h : x = y → False) : x ≠ y := h
theorem ne_of_eq_of_ne {α : Sort u} {x y z : α} (h : x = y) (k : y ≠ z) : x ≠ z := h ▸ k
theorem iff_of_true (ha : a) (hb : b) : a ↔ b := ⟨fun _ => hb, fun _ => ha⟩
theorem iff_of_false (ha : ¬a) (hb : ¬b) : a ↔ b := ⟨fun h => absurd h ha, fun h => absurd h hb⟩
theorem of_eq_true (h : p = True) : p := h ▸ trivial
theorem eq_true (h : p) : p = True := propext ⟨fun _ => trivial, fun _ => h⟩
theorem of_eq_false (h : p = False) : ¬p := fun hp => False.elim (h.mp hp)
theorem eq_false (h : ¬p) : p = False := propext ⟨fun x => absurd x h, False.elim⟩
theorem eq_false' (h : p → False) : p = False := eq_false h
@[simp] theorem eq_self {α : Sort u} (a : α) : (a = a) = True := eq_true rfl
@[simp] theorem iff_self (p : Prop) : (p ↔ p) = True := eq_true Iff.rfl
theorem Eq.propIntro (h₁ : a → b) (h₂ : b → a) : a = b := propext ⟨h₁, h₂⟩
theorem implies_congr {p₁ p₂ : Sort u} {q₁ q₂ : Sort v} (h₁ : p₁ = p₂) (h₂ : q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) := h₁ ▸ h₂ ▸ rfl
theorem implies_dep_congr_ctx {p₁ p₂ : Prop} {q₁ : p₁ → Prop} (h₁ : p₁ = p₂) {q₂ : p₂ → Prop} (h₂ : ∀ h : p₂, q₁ (h₁.mpr h) = q₂ h) : (∀ h : p₁, q₁ h) = (∀ h : p₂, q₂ h) :=
  propext ⟨fun f h => (h₂ h).mp (f _), fun f h => (h₂ (h₁.mp h)).mpr (f _)⟩
theorem implies_congr_ctx {p₁ p₂ q₁ q₂ : Prop} (h₁ : p₁ = p₂) (h₂ : p₂ → q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) :=
  propext ⟨fun f h => (h₂ h).mp (f (h₁.mpr h)), fun f h => (h₂ (h₁.mp h)).mpr (f (h₁.mp h))⟩
theorem forall_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a = q a) : (∀ a, p a) = (∀ a, q a) :=
  propext ⟨fun f a => (h a).mp (f a), fun f a => (h a).mpr (f a)⟩
theorem forall_prop_domain_congr {p₁ p₂ : Prop} {q : p₁ → Prop} (h₁ : p₁ = p₂) : (∀ a : p₁, q a) = (∀ a : p₂, q (h₁.mpr a)) := by subst h₁; rfl
theorem forall_prop_congr_dom {p₁ p₂ : Prop} (h : p₁ = p₂) (q : p₁ → Prop) : (∀ a : p₁, q a) = (∀ a : p₂, q (h.mpr a)) := by subst h; rfl
def FunEq {α : Sort u} {β : α → Sort v} (f g : (a : α) → β a) : Prop := ∀ a, f a = g a
def Quot.applyFn {α : Sort u} {β : α → Sort v} (q : @Quot ((a : α) → β a) FunEq) (a : α) : β a :=
  Quot.lift (fun f => f a) (fun _ _ h => h a) q
theorem funext {α : Sort u} {β : α → Sort v} {f g : (a : α) → β a} (h : ∀ a, f a = g a) : f = g :=
  congrArg Quot.applyFn (Quot.sound (r := FunEq) h)
theorem pi_congr {α : Sort u} {β β' : α → Sort v} (h : ∀ a, β a = β' a) : (∀ a, β a) = ∀ a, β' a := by
  have e : β = β' := funext h
  subst e; rfl
theorem forall_congr' {α : Sort u} {p q : α → Prop} (h : ∀ a, p a ↔ q a) : (∀ a, p a) ↔ (∀ a, q a) := ⟨fun f a => (h a).mp (f a), fun f a => (h a).mpr (f a)⟩
theorem exists_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a ↔ q a) : (∃ a, p a) ↔ (∃ a, q a) :=
  ⟨fun ⟨w, k⟩ => ⟨w, (h w).mp k⟩, fun ⟨w, k⟩ => ⟨w, (h w).mpr k⟩⟩

attribute [refl] Iff.refl
attribute [symm] Eq.symm Iff.symm Ne.symm
attribute [ext] funext
class Trans.{u1, v1, w1, a1, b1, c1} {α : Sort a1} {β : Sort b1} {γ : Sort c1} (r : α → β → Sort u1) (s : β → γ → Sort v1) (t : outParam (α → γ → Sort w1)) where
  trans {a : α} {b : β} {c : γ} : r a b → s b c → t a c
instance {α : Sort u} {γ : Sort v} (r : α → γ → Sort w) : Trans Eq r r := ⟨fun h k => h ▸ k⟩
instance {α : Sort u} {β : Sort v} (r : α → β → Sort w) : Trans r Eq r := ⟨fun h k => k ▸ h⟩
instance : Trans Iff Iff Iff := ⟨Iff.trans⟩
class Std.Associative {α : Sort u} (op : α → α → α) : Prop where
  assoc : ∀ a b c, op (op a b) c = op a (op b c)
class Std.Commutative {α : Sort u} (op : α → α → α) : Prop where
  comm : ∀ a b, op a b = op b a
/-! decidability -/
theorem false_ne_true (h : false = true) : False := (congrArg (fun x => cond x False True) h).mp trivial
theorem true_ne_false (h : true = false) : False := false_ne_true h.symm
theorem of_decide_eq_true [inst : Decidable p] : decide p = true → p := by
  cases inst with
  | isTrue h => intro _; exact h
  | isFalse _ => intro h; exact (false_ne_true h).elim
theorem of_decide_eq_false [inst : Decidable p] : decide p = false → ¬p := by
  cases inst with
  | isTrue _ => intro h; exact (true_ne_false h).elim
  | isFalse h => intro _; exact h
theorem decide_eq_true [inst : Decidable p] (h : p) : decide p = true := by
  cases inst with
  | isTrue _ => rfl
  | isFalse n => exact absurd h n
theorem decide_eq_false [inst : Decidable p] (h : ¬p) : decide p = false := by
  cases inst with
  | isTrue k => exact absurd k h
  | isFalse _ => rfl
theorem eq_true_of_decide {p : Prop} [Decidable p] (h : decide p = true) : p = True := eq_true (of_decide_eq_true h)
theorem eq_false_of_decide {p : Prop} [Decidable p] (h : decide p = false) : p = False := eq_false (of_decide_eq_false h)
@[simp] theorem decide_eq_true_eq [Decidable p] : (decide p = true) = p := propext ⟨of_decide_eq_true, decide_eq_true⟩
instance instSubsingletonProp (p : Prop) : Subsingleton p := ⟨fun _ _ => rfl⟩
instance instSubsingletonDecidable (p : Prop) : Subsingleton (Decidable p) :=
  ⟨fun a b => match a, b with
    | isTrue _, isTrue _ => rfl
    | isFalse _, isFalse _ => rfl
    | isTrue h, isFalse k => absurd h k
    | isFalse k, isTrue h => absurd h k⟩
theorem Subsingleton.helim {α β : Sort u} [h₁ : Subsingleton α] (h₂ : α = β) (a : α) (b : β) : a ≍ b := by
  subst h₂; exact heq_of_eq (Subsingleton.elim a b)
theorem Decidable.em (p : Prop) [inst : Decidable p] : p ∨ ¬p := match inst with | isTrue h => .inl h | isFalse h => .inr h
theorem Decidable.byContradiction [inst : Decidable p] (h : ¬p → False) : p := match inst with | isTrue h => h | isFalse k => (h k).elim
theorem Decidable.of_not_not [Decidable p] (h : ¬¬p) : p := Decidable.byContradiction h
def Decidable.byCases {α : Sort u} [inst : Decidable p] (t : p → α) (e : ¬p → α) : α := match inst with | isTrue h => t h | isFalse h => e h
instance instDecidableTrue : Decidable True := isTrue trivial
instance instDecidableFalse : Decidable False := isFalse (fun h => h)
instance instDecidableAnd [dp : Decidable p] [dq : Decidable q] : Decidable (p ∧ q) :=
  match dp, dq with
  | isTrue hp, isTrue hq => isTrue ⟨hp, hq⟩
  | isFalse hp, _ => isFalse (fun h => hp h.left)
  | _, isFalse hq => isFalse (fun h => hq h.right)
instance instDecidableOr [dp : Decidable p] [dq : Decidable q] : Decidable (p ∨ q) :=
  match dp, dq with
  | isTrue hp, _ => isTrue (.inl hp)
  | _, isTrue hq => isTrue (.inr hq)
  | isFalse hp, isFalse hq => isFalse (fun h => h.elim hp hq)
instance instDecidableNot [dp : Decidable p] : Decidable (¬p) :=
  match dp with
  | isTrue hp => isFalse (fun k => k hp)
  | isFalse hp => isTrue hp
instance instDecidableForall [dp : Decidable p] [dq : Decidable q] : Decidable (p → q) :=
  match dp, dq with
  | _, isTrue hq => isTrue (fun _ => hq)
  | isFalse hp, _ => isTrue (fun h => absurd h hp)
  | isTrue hp, isFalse hq => isFalse (fun h => hq (h hp))
def decidable_of_decidable_of_iff [dp : Decidable p] (h : p ↔ q) : Decidable q :=
  match dp with
  | isTrue hp => isTrue (h.mp hp)
  | isFalse hp => isFalse (fun k => hp (h.mpr k))
instance instDecidableIff [Decidable p] [Decidable q] : Decidable (p ↔ q) :=
  decidable_of_decidable_of_iff (p := (p → q) ∧ (q → p)) ⟨fun h => ⟨h.1, h.2⟩, fun h => ⟨h.1, h.2⟩⟩
instance instDecidableEqBool : DecidableEq Bool
  | true, true => isTrue rfl
  | false, false => isTrue rfl
  | true, false => isFalse true_ne_false
  | false, true => isFalse false_ne_true
theorem if_pos {c : Prop} [h : Decidable c] (hc : c) {α : Sort u} {t e : α} : (ite c t e) = t := match h with | isTrue _ => rfl | isFalse k => absurd hc k
theorem if_neg {c : Prop} [h : Decidable c] (hc : ¬c) {α : Sort u} {t e : α} : (ite c t e) = e := match h with | isTrue k => absurd k hc | isFalse _ => rfl
theorem dif_pos {c : Prop} [h : Decidable c] (hc : c) {α : Sort u} {t : c → α} {e : ¬c → α} : (dite c t e) = t hc := match h with | isTrue _ => rfl | isFalse k => absurd hc k
theorem dif_neg {c : Prop} [h : Decidable c] (hc : ¬c) {α : Sort u} {t : c → α} {e : ¬c → α} : (dite c t e) = e hc := match h with | isTrue k => absurd k hc | isFalse _ => rfl

