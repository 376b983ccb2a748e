/-! The simp set for propositions, conditionals and order, and what `simp` and `split` need by name. -/
@[simp] theorem and_true (p : Prop) : (p ∧ True) = p := propext ⟨fun h => h.1, fun h => ⟨h, trivial⟩⟩
@[simp] theorem true_and (p : Prop) : (True ∧ p) = p := propext ⟨fun h => h.2, fun h => ⟨trivial, h⟩⟩
@[simp] theorem and_false (p : Prop) : (p ∧ False) = False := eq_false (fun h => h.2)
@[simp] theorem false_and (p : Prop) : (False ∧ p) = False := eq_false (fun h => h.1)
@[simp] theorem and_self (p : Prop) : (p ∧ p) = p := propext ⟨fun h => h.1, fun h => ⟨h, h⟩⟩
@[simp] theorem or_self (p : Prop) : (p ∨ p) = p := propext ⟨fun h => h.elim id id, .inl⟩
@[simp] theorem or_true (p : Prop) : (p ∨ True) = True := eq_true (.inr trivial)
@[simp] theorem true_or (p : Prop) : (True ∨ p) = True := eq_true (.inl trivial)
@[simp] theorem or_false (p : Prop) : (p ∨ False) = p := propext ⟨fun h => h.elim id False.elim, .inl⟩
@[simp] theorem false_or (p : Prop) : (False ∨ p) = p := propext ⟨fun h => h.elim False.elim id, .inr⟩
@[simp] theorem not_true_eq_false : (¬True) = False := eq_false (fun h => h trivial)
@[simp] theorem not_false_eq_true : (¬False) = True := eq_true id
@[simp] theorem iff_true (p : Prop) : (p ↔ True) = p := propext ⟨fun h => h.mpr trivial, fun h => iff_of_true h trivial⟩
@[simp] theorem true_iff (p : Prop) : (True ↔ p) = p := propext ⟨fun h => h.mp trivial, fun h => iff_of_true trivial h⟩
@[simp] theorem iff_false (p : Prop) : (p ↔ False) = ¬p := propext ⟨fun h => h.mp, fun h => iff_of_false h id⟩
@[simp] theorem false_iff (p : Prop) : (False ↔ p) = ¬p := propext ⟨fun h => h.mpr, fun h => iff_of_false id h⟩
@[simp] theorem implies_true (α : Sort u) : (α → True) = True := eq_true (fun _ => trivial)
@[simp] theorem true_imp (p : Prop) : (True → p) = p := propext ⟨fun h => h trivial, fun h _ => h⟩
@[simp] theorem false_imp (p : Prop) : (False → p) = True := eq_true False.elim
@[simp] theorem ne_eq {α : Sort u} (a b : α) : (a ≠ b) = ¬(a = b) := rfl
@[simp] theorem ge_iff_le {α : Type u} [LE α] {x y : α} : x ≥ y ↔ y ≤ x := Iff.rfl
@[simp] theorem gt_iff_lt {α : Type u} [LT α] {x y : α} : x > y ↔ y < x := Iff.rfl
@[simp] theorem exists_const (α : Sort u) [h : Nonempty α] (p : Prop) : (∃ _ : α, p) ↔ p := ⟨fun ⟨_, k⟩ => k, fun k => h.rec (fun a => ⟨a, k⟩)⟩
@[simp] theorem exists_eq_left' {α : Sort u} {a : α} {p : α → Prop} : (∃ x, a = x ∧ p x) ↔ p a := ⟨fun ⟨_, e, k⟩ => e ▸ k, fun k => ⟨a, rfl, k⟩⟩
@[simp] theorem exists_eq_left {α : Sort u} {a : α} {p : α → Prop} : (∃ x, x = a ∧ p x) ↔ p a := ⟨fun ⟨_, e, k⟩ => e ▸ k, fun k => ⟨a, rfl, k⟩⟩
@[simp] theorem ite_true {α : Sort u} (x y : α) : (if True then x else y) = x := rfl
@[simp] theorem ite_false {α : Sort u} (x y : α) : (if False then x else y) = y := rfl
theorem ite_congr {α : Sort u} {b c : Prop} {x y z w : α} {s : Decidable b} [Decidable c] (h₁ : b = c) (h₂ : c → x = z) (h₃ : ¬c → y = w) : ite b x y = ite c z w := by
  cases Decidable.em c with
  | inl h => rw [if_pos h]; subst h₁; exact (if_pos (h := s) h).trans (h₂ h)
  | inr h => rw [if_neg h]; subst h₁; exact (if_neg (h := s) h).trans (h₃ h)
theorem ite_eq_left {α : Sort u} {c : Prop} {h : Decidable c} {t e : α} (hc : c) : (ite c t e) = t := if_pos hc
theorem ite_eq_right {α : Sort u} {c : Prop} {h : Decidable c} {t e : α} (hc : ¬c) : (ite c t e) = e := if_neg hc
theorem dite_eq_left {α : Sort u} {c : Prop} {h : Decidable c} {t : c → α} {e : ¬c → α} (hc : c) : (dite c t e) = t hc := dif_pos hc
theorem dite_eq_right {α : Sort u} {c : Prop} {h : Decidable c} {t : c → α} {e : ¬c → α} (hc : ¬c) : (dite c t e) = e hc := dif_neg hc
theorem ite_eq_left_of_eq_true {α : Sort u} {c : Prop} {_ : Decidable c} (a b : α) (h : c = True) : (if c then a else b) = a := if_pos (of_eq_true h)
theorem ite_eq_right_of_eq_false {α : Sort u} {c : Prop} {_ : Decidable c} (a b : α) (h : c = False) : (if c then a else b) = b := if_neg (of_eq_false h)
theorem ite_cond_congr {α : Sort u} {b c : Prop} {s : Decidable b} [Decidable c] {x y : α} (h : b = c) : ite b x y = ite c x y :=
  ite_congr h (fun _ => rfl) (fun _ => rfl)
attribute [congr] ite_cond_congr
theorem And.comm : a ∧ b ↔ b ∧ a := ⟨And.symm, And.symm⟩
theorem Or.comm : a ∨ b ↔ b ∨ a := ⟨Or.symm, Or.symm⟩
theorem and_comm : a ∧ b ↔ b ∧ a := And.comm
theorem or_comm : a ∨ b ↔ b ∨ a := Or.comm
theorem and_assoc : (a ∧ b) ∧ c ↔ a ∧ (b ∧ c) := ⟨fun h => ⟨h.1.1, h.1.2, h.2⟩, fun h => ⟨⟨h.1, h.2.1⟩, h.2.2⟩⟩
theorem not_or : ¬(p ∨ q) ↔ ¬p ∧ ¬q := ⟨fun h => ⟨fun x => h (.inl x), fun x => h (.inr x)⟩, fun h k => k.elim h.1 h.2⟩
theorem not_exists {α : Sort u} {p : α → Prop} : (¬∃ x, p x) ↔ ∀ x, ¬p x := ⟨fun h x k => h ⟨x, k⟩, fun h ⟨x, k⟩ => h x k⟩
@[simp] theorem Nat.le_zero_eq (n : Nat) : (n ≤ 0) = (n = 0) := propext ⟨fun h => Nat.le_antisymm h (Nat.zero_le n), fun h => h ▸ Nat.le_refl _⟩
attribute [simp] Nat.zero_le Nat.le_refl Nat.lt_irrefl
