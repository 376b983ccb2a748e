/-! Natural numbers: arithmetic and order. -/
instance : Inhabited Nat := ⟨.zero⟩
@[extern "lean_nat_add"] protected def Nat.add : Nat → Nat → Nat
  | n, .zero => n
  | n, .succ m => .succ (Nat.add n m)
instance instAddNat : Add Nat := ⟨Nat.add⟩
attribute [match_pattern] Nat.add Add.add HAdd.hAdd
@[extern "lean_nat_mul"] protected def Nat.mul : Nat → Nat → Nat
  | _, .zero => .zero
  | n, .succ m => Nat.add (Nat.mul n m) n
instance instMulNat : Mul Nat := ⟨Nat.mul⟩
@[extern "lean_nat_pow"] protected def Nat.pow : Nat → Nat → Nat
  | _, .zero => 1
  | n, .succ m => Nat.mul (Nat.pow n m) n
instance instNatPowNat : NatPow Nat := ⟨Nat.pow⟩
def Nat.pred : Nat → Nat
  | .zero => .zero
  | .succ n => n
@[extern "lean_nat_sub"] protected def Nat.sub : Nat → Nat → Nat
  | n, .zero => n
  | n, .succ m => Nat.pred (Nat.sub n m)
instance instSubNat : Sub Nat := ⟨Nat.sub⟩
@[extern "lean_nat_dec_eq"] def Nat.beq : Nat → Nat → Bool
  | .zero, .zero => true
  | .succ n, .succ m => Nat.beq n m
  | _, _ => false
@[extern "lean_nat_dec_le"] def Nat.ble : Nat → Nat → Bool
  | .zero, _ => true
  | .succ _, .zero => false
  | .succ n, .succ m => Nat.ble n m
theorem Nat.eq_of_beq_eq_true : ∀ {n m : Nat}, Nat.beq n m = true → n = m := fun {n} => by
  induction n with
  | zero => intro m h; exact Nat.casesOn (motive := fun m => Nat.beq .zero m = true → Nat.zero = m) m (fun _ => rfl) (fun _ h => (false_ne_true h).elim) h
  | succ n ih => intro m h; exact Nat.casesOn (motive := fun m => Nat.beq (.succ n) m = true → Nat.succ n = m) m (fun h => (false_ne_true h).elim) (fun k h => congrArg Nat.succ (ih h)) h
theorem Nat.beq_refl : ∀ n : Nat, Nat.beq n n = true
  | .zero => rfl
  | .succ n => Nat.beq_refl n
theorem Nat.ne_of_beq_eq_false {n m : Nat} (h : Nat.beq n m = false) (e : n = m) : False := by
  subst e
  rw [Nat.beq_refl] at h
  exact true_ne_false h
theorem noConfusion_of_Nat {α : Sort u} (f : α → Nat) {a b : α} (h : a = b) : (Nat.beq (f a) (f b)).rec False True := by
  subst h; rw [Nat.beq_refl]; exact trivial
@[extern "lean_nat_dec_eq"] def Nat.decEq (n m : Nat) : Decidable (n = m) :=
  Bool.casesOn (motive := fun b => Nat.beq n m = b → Decidable (n = m)) (Nat.beq n m)
    (fun h => isFalse (Nat.ne_of_beq_eq_false h)) (fun h => isTrue (Nat.eq_of_beq_eq_true h)) rfl
instance instDecidableEqNat : DecidableEq Nat := Nat.decEq
set_option genCtorIdx true
attribute [gen_constructor_elims] Bool
attribute [gen_constructor_elims] Nat
attribute [gen_constructor_elims] List Option Sum PSum
namespace Nat
protected inductive le (n : Nat) : Nat → Prop
  | refl : Nat.le n n
  | step {m : Nat} : Nat.le n m → Nat.le n (.succ m)
instance _root_.instLENat : LE Nat := ⟨Nat.le⟩
protected def lt (n m : Nat) : Prop := Nat.le (n + 1) m
instance _root_.instLTNat : LT Nat := ⟨Nat.lt⟩
variable {n m k l : Nat}
@[simp] theorem add_zero (n : Nat) : n + 0 = n := rfl
theorem add_succ (n m : Nat) : n + succ m = succ (n + m) := rfl
theorem succ_eq_add_one (n : Nat) : succ n = n + 1 := rfl
theorem add_one (n : Nat) : n + 1 = succ n := rfl
/-- `induction n` shows `0` and `n + 1`. -/
@[elab_as_elim, induction_eliminator] protected def recAux {motive : Nat → Sort u} (zero : motive 0) (succ : ∀ n, motive n → motive (n + 1)) (t : Nat) : motive t :=
  Nat.rec zero succ t
@[elab_as_elim, cases_eliminator] protected def casesAuxOn {motive : Nat → Sort u} (t : Nat) (zero : motive 0) (succ : ∀ n, motive (n + 1)) : motive t :=
  Nat.rec zero (fun n _ => succ n) t
@[simp] protected theorem zero_add (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih => exact congrArg succ ih
theorem succ_add (n m : Nat) : succ n + m = succ (n + m) := by
  induction m with
  | zero => rfl
  | succ m ih => exact congrArg succ ih
protected theorem add_comm (n m : Nat) : n + m = m + n := by
  induction m with
  | zero => exact (Nat.zero_add n).symm
  | succ m ih => rw [← succ_eq_add_one, add_succ, succ_add, ih]
protected theorem add_assoc (n m k : Nat) : n + m + k = n + (m + k) := by
  induction k with
  | zero => rfl
  | succ k ih => exact congrArg succ ih
protected theorem add_left_comm (n m k : Nat) : n + (m + k) = m + (n + k) := by
  rw [← Nat.add_assoc, Nat.add_comm n m, Nat.add_assoc]
protected theorem add_right_comm (n m k : Nat) : n + m + k = n + k + m := by
  rw [Nat.add_assoc, Nat.add_comm m k, ← Nat.add_assoc]
theorem succ.inj' (h : succ n = succ m) : n = m := congrArg pred h
protected theorem add_left_cancel (h : n + m = n + k) : m = k := by
  induction n with
  | zero => rw [Nat.zero_add, Nat.zero_add] at h; exact h
  | succ n ih => exact ih (by rw [← succ_eq_add_one, succ_add, succ_add] at h; exact succ.inj' h)
protected theorem add_right_cancel (h : n + m = k + m) : n = k := by
  rw [Nat.add_comm n, Nat.add_comm k] at h; exact Nat.add_left_cancel h
@[simp] protected theorem add_left_cancel_iff : (n + m = n + k) ↔ m = k := ⟨Nat.add_left_cancel, fun h => h ▸ rfl⟩
@[simp] protected theorem add_right_cancel_iff : (m + n = k + n) ↔ m = k := ⟨Nat.add_right_cancel, fun h => h ▸ rfl⟩
@[simp] protected theorem mul_zero (n : Nat) : n * 0 = 0 := rfl
theorem mul_succ (n m : Nat) : n * succ m = n * m + n := rfl
theorem mul_add_one (n m : Nat) : n * (m + 1) = n * m + n := rfl
@[simp] protected theorem zero_mul (n : Nat) : 0 * n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [mul_add_one, ih]
@[simp] protected theorem mul_one (n : Nat) : n * 1 = n := Nat.zero_add n
theorem succ_mul (n m : Nat) : succ n * m = n * m + m := by
  induction m with
  | zero => rfl
  | succ m ih =>
    show succ n * m + succ n = n * m + n + succ m
    rw [ih, Nat.add_assoc, Nat.add_assoc, add_succ, add_succ n m, Nat.add_comm n m]
theorem add_one_mul (n m : Nat) : (n + 1) * m = n * m + m := succ_mul n m
protected theorem mul_comm (n m : Nat) : n * m = m * n := by
  induction m with
  | zero => exact (Nat.zero_mul n).symm
  | succ m ih => rw [mul_add_one, add_one_mul, ih]
@[simp] protected theorem one_mul (n : Nat) : 1 * n = n := by rw [Nat.mul_comm, Nat.mul_one]
protected theorem left_distrib (n m k : Nat) : n * (m + k) = n * m + n * k := by
  induction k with
  | zero => rfl
  | succ k ih => rw [← Nat.add_assoc, mul_add_one, mul_add_one, ih, Nat.add_assoc]
protected theorem mul_add (n m k : Nat) : n * (m + k) = n * m + n * k := Nat.left_distrib n m k
protected theorem right_distrib (n m k : Nat) : (n + m) * k = n * k + m * k := by
  rw [Nat.mul_comm, Nat.left_distrib, Nat.mul_comm k, Nat.mul_comm k]
protected theorem add_mul (n m k : Nat) : (n + m) * k = n * k + m * k := Nat.right_distrib n m k
protected theorem mul_assoc (n m k : Nat) : n * m * k = n * (m * k) := by
  induction k with
  | zero => rfl
  | succ k ih => rw [mul_add_one, ih, mul_add_one, Nat.left_distrib]
protected theorem mul_left_comm (n m k : Nat) : n * (m * k) = m * (n * k) := by
  rw [← Nat.mul_assoc, Nat.mul_comm n m, Nat.mul_assoc]
@[simp] protected theorem pow_zero (n : Nat) : n ^ 0 = 1 := rfl
protected theorem pow_succ (n m : Nat) : n ^ (m + 1) = n ^ m * n := rfl
protected theorem pow_two (n : Nat) : n ^ 2 = n * n := by rw [Nat.pow_succ, Nat.pow_succ, Nat.pow_zero, Nat.one_mul]
theorem succ_ne_zero (n : Nat) : succ n ≠ 0 := fun h => nomatch h
@[simp] theorem add_one_ne_zero (n : Nat) : n + 1 ≠ 0 := fun h => nomatch h
protected theorem zero_ne_one : (0 : Nat) ≠ 1 := fun h => nomatch h
theorem zero_le : ∀ n : Nat, 0 ≤ n
  | 0 => .refl
  | n + 1 => .step (zero_le n)
@[refl] protected theorem le_refl (n : Nat) : n ≤ n := .refl
protected theorem le_trans (h₁ : n ≤ m) (h₂ : m ≤ k) : n ≤ k := by
  induction h₂ with
  | refl => exact h₁
  | step _ ih => exact .step ih
theorem succ_le_succ (h : n ≤ m) : succ n ≤ succ m := by
  induction h with
  | refl => exact .refl
  | step _ ih => exact .step ih
theorem le_succ (n : Nat) : n ≤ succ n := .step .refl
theorem le_of_succ_le_succ (h : succ n ≤ succ m) : n ≤ m := by
  cases h with
  | refl => exact .refl
  | step h => exact Nat.le_trans (le_succ n) h
theorem not_succ_le_zero (n : Nat) : ¬(succ n ≤ 0) := fun h => nomatch h
theorem not_succ_le_self (n : Nat) : ¬(succ n ≤ n) := by
  induction n with
  | zero => exact not_succ_le_zero 0
  | succ n ih => exact fun h => ih (le_of_succ_le_succ h)
protected theorem lt_irrefl (n : Nat) : ¬(n < n) := not_succ_le_self n
theorem lt_succ_self (n : Nat) : n < succ n := .refl
theorem lt_of_succ_le (h : succ n ≤ m) : n < m := h
theorem le_of_lt_succ (h : n < succ m) : n ≤ m := le_of_succ_le_succ h
protected theorem le_of_lt (h : n < m) : n ≤ m := Nat.le_trans (le_succ n) h
protected theorem lt_of_lt_of_le (h : n < m) (k' : m ≤ k) : n < k := Nat.le_trans h k'
protected theorem lt_of_le_of_lt (h : n ≤ m) (k' : m < k) : n < k := Nat.le_trans (succ_le_succ h) k'
protected theorem lt_trans (h : n < m) (k' : m < k) : n < k := Nat.lt_of_lt_of_le h (Nat.le_of_lt k')
theorem zero_lt_succ (n : Nat) : 0 < succ n := succ_le_succ (zero_le n)
protected theorem le_antisymm (h₁ : n ≤ m) (h₂ : m ≤ n) : n = m := by
  cases h₁ with
  | refl => rfl
  | step h => exact absurd (Nat.le_trans h₂ h) (not_succ_le_self _)
protected theorem eq_or_lt_of_le (h : n ≤ m) : n = m ∨ n < m := by
  cases h with
  | refl => exact .inl rfl
  | step h => exact .inr (succ_le_succ h)
protected theorem lt_or_ge (n m : Nat) : n < m ∨ n ≥ m := by
  induction n with
  | zero => cases m with
    | zero => exact .inr .refl
    | succ m => exact .inl (zero_lt_succ m)
  | succ n ih =>
    rcases ih with h | h
    · rcases Nat.eq_or_lt_of_le h with e | l
      · right; subst e; exact Nat.le_refl _
      · left; exact l
    · right; exact .step h
protected theorem le_total (n m : Nat) : n ≤ m ∨ m ≤ n := (Nat.lt_or_ge n m).elim (fun h => .inl (Nat.le_of_lt h)) .inr
theorem not_le_of_gt (h : n > m) : ¬(n ≤ m) := fun k => Nat.lt_irrefl _ (Nat.lt_of_le_of_lt k h)
theorem le_add_right (n m : Nat) : n ≤ n + m := by
  induction m with
  | zero => exact .refl
  | succ m ih => exact .step ih
theorem le_add_left (n m : Nat) : n ≤ m + n := Nat.add_comm n m ▸ le_add_right n m
protected theorem add_le_add_left (h : n ≤ m) (k : Nat) : k + n ≤ k + m := by
  induction h with
  | refl => exact .refl
  | step _ ih => exact .step ih
protected theorem add_le_add_right (h : n ≤ m) (k : Nat) : n + k ≤ m + k := by
  rw [Nat.add_comm n, Nat.add_comm m]; exact Nat.add_le_add_left h k
protected theorem add_le_add (h₁ : n ≤ m) (h₂ : k ≤ l) : n + k ≤ m + l :=
  Nat.le_trans (Nat.add_le_add_right h₁ k) (Nat.add_le_add_left h₂ m)
protected theorem mul_le_mul_left (k : Nat) (h : n ≤ m) : k * n ≤ k * m := by
  induction h with
  | refl => exact .refl
  | step _ ih => exact Nat.le_trans ih (le_add_right _ _)
protected theorem le_of_add_le_add_left (h : k + n ≤ k + m) : n ≤ m := by
  induction k with
  | zero => rw [Nat.zero_add, Nat.zero_add] at h; exact h
  | succ k ih => exact ih (by rw [← succ_eq_add_one, succ_add, succ_add] at h; exact le_of_succ_le_succ h)
theorem le_of_ble_eq_true : ∀ {n m : Nat}, ble n m = true → n ≤ m
  | 0, _, _ => zero_le _
  | n + 1, m + 1, h => succ_le_succ (le_of_ble_eq_true h)
theorem ble_self : ∀ n : Nat, ble n n = true
  | 0 => rfl
  | n + 1 => ble_self n
theorem ble_succ_right : ∀ {n m : Nat}, ble n m = true → ble n (succ m) = true
  | 0, _, _ => rfl
  | n + 1, m + 1, h => ble_succ_right (n := n) (m := m) h
theorem ble_eq_true_of_le (h : n ≤ m) : ble n m = true := by
  induction h with
  | refl => exact ble_self n
  | step _ ih => exact ble_succ_right ih
instance _root_.instAssocAddNat : Std.Associative (α := Nat) (· + ·) := ⟨Nat.add_assoc⟩
instance _root_.instCommAddNat : Std.Commutative (α := Nat) (· + ·) := ⟨Nat.add_comm⟩
instance _root_.instAssocMulNat : Std.Associative (α := Nat) (· * ·) := ⟨Nat.mul_assoc⟩
instance _root_.instCommMulNat : Std.Commutative (α := Nat) (· * ·) := ⟨Nat.mul_comm⟩
instance : Trans (α := Nat) (· ≤ ·) (· ≤ ·) (· ≤ ·) := ⟨Nat.le_trans⟩
instance : Trans (α := Nat) (· < ·) (· < ·) (· < ·) := ⟨Nat.lt_trans⟩
instance : Trans (α := Nat) (· ≤ ·) (· < ·) (· < ·) := ⟨Nat.lt_of_le_of_lt⟩
instance : Trans (α := Nat) (· < ·) (· ≤ ·) (· < ·) := ⟨Nat.lt_of_lt_of_le⟩
theorem lt_or_gt_of_ne (h : n ≠ m) : n < m ∨ n > m := (Nat.lt_or_ge n m).elim .inl (fun k => (Nat.eq_or_lt_of_le k).elim (fun e => absurd e.symm h) .inr)
instance decLe (n m : Nat) : Decidable (n ≤ m) := decidable_of_decidable_of_iff (p := ble n m = true) ⟨le_of_ble_eq_true, ble_eq_true_of_le⟩
instance decLt (n m : Nat) : Decidable (n < m) := decLe (n + 1) m
theorem add_sub_cancel (n m : Nat) : n + m - m = n := by
  induction m with
  | zero => rfl
  | succ m ih => exact Eq.trans (sub_succ_succ (n + m) m) ih
where sub_succ_succ : ∀ a b : Nat, (a + 1) - (b + 1) = a - b
  | _, 0 => rfl
  | a, b + 1 => congrArg pred (sub_succ_succ a b)
end Nat
