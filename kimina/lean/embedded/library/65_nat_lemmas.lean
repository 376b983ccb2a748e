/-! More of arithmetic and order, under the names of Lean's library. -/
namespace Nat
variable {n m k l : Nat}
protected theorem one_add (n : Nat) : 1 + n = succ n := Nat.add_comm 1 n
protected theorem two_mul (n : Nat) : 2 * n = n + n := by rw [Nat.succ_mul, Nat.one_mul]
protected theorem mul_two (n : Nat) : n * 2 = n + n := by rw [Nat.mul_comm, Nat.two_mul]
protected theorem mul_right_comm (n m k : Nat) : n * m * k = n * k * m := by
  rw [Nat.mul_assoc, Nat.mul_comm m k, ← Nat.mul_assoc]
protected theorem add_add_add_comm (a b c d : Nat) : a + b + (c + d) = a + c + (b + d) := by
  rw [Nat.add_assoc, Nat.add_assoc, Nat.add_left_comm b]
protected theorem mul_mul_mul_comm (a b c d : Nat) : a * b * (c * d) = a * c * (b * d) := by
  rw [Nat.mul_assoc, Nat.mul_assoc, Nat.mul_left_comm b]
protected theorem pow_succ' (n m : Nat) : n ^ (m + 1) = n * n ^ m := by rw [Nat.pow_succ, Nat.mul_comm]
@[simp] protected theorem pow_one (n : Nat) : n ^ 1 = n := by rw [Nat.pow_succ, Nat.pow_zero, Nat.one_mul]
@[simp] protected theorem one_pow (n : Nat) : 1 ^ n = 1 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.pow_succ, ih]
protected theorem zero_pow (h : 0 < n) : 0 ^ n = 0 := by
  cases n with
  | zero => exact absurd h (Nat.lt_irrefl 0)
  | succ n => rw [Nat.pow_succ, Nat.mul_zero]
protected theorem pow_add (a m n : Nat) : a ^ (m + n) = a ^ m * a ^ n := by
  induction n with
  | zero => rw [Nat.pow_zero, Nat.mul_one]; rfl
  | succ n ih => rw [← Nat.add_assoc, Nat.pow_succ, ih, Nat.pow_succ, Nat.mul_assoc]
protected theorem mul_pow (a b n : Nat) : (a * b) ^ n = a ^ n * b ^ n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.pow_succ, Nat.pow_succ, Nat.pow_succ, ih, Nat.mul_mul_mul_comm]
protected theorem le_of_eq (h : n = m) : n ≤ m := h ▸ Nat.le_refl n
@[simp] theorem succ_ne_self (n : Nat) : succ n ≠ n := fun h => not_succ_le_self n (Nat.le_of_eq h)
theorem succ_inj : succ n = succ m ↔ n = m := ⟨succ.inj', congrArg succ⟩
@[simp] theorem zero_ne_add_one (n : Nat) : 0 ≠ n + 1 := fun h => nomatch h
theorem exists_eq_succ_of_ne_zero (h : n ≠ 0) : ∃ k, n = succ k := by
  cases n with
  | zero => exact absurd rfl h
  | succ n => exact ⟨n, rfl⟩
theorem eq_zero_or_eq_succ_pred (n : Nat) : n = 0 ∨ n = succ (pred n) := by
  cases n with
  | zero => exact .inl rfl
  | succ n => exact .inr rfl
@[simp] theorem pred_zero : pred 0 = 0 := rfl
@[simp] theorem pred_succ (n : Nat) : pred (succ n) = n := rfl
theorem succ_pred (h : n ≠ 0) : succ (pred n) = n := by
  cases n with
  | zero => exact absurd rfl h
  | succ n => rfl

/-! order -/
@[simp] theorem lt_add_one (n : Nat) : n < n + 1 := .refl
theorem lt_succ_of_le (h : n ≤ m) : n < succ m := succ_le_succ h
theorem lt_add_one_of_le (h : n ≤ m) : n < m + 1 := succ_le_succ h
theorem le_of_lt_add_one (h : n < m + 1) : n ≤ m := le_of_succ_le_succ h
theorem lt_succ_iff : n < succ m ↔ n ≤ m := ⟨le_of_lt_succ, lt_succ_of_le⟩
theorem lt_add_one_iff : n < m + 1 ↔ n ≤ m := lt_succ_iff
theorem succ_le_of_lt (h : n < m) : succ n ≤ m := h
theorem succ_le : succ n ≤ m ↔ n < m := Iff.rfl
theorem add_one_le_iff : n + 1 ≤ m ↔ n < m := Iff.rfl
theorem le_succ_of_le (h : n ≤ m) : n ≤ succ m := .step h
theorem lt_succ_of_lt (h : n < m) : n < succ m := .step h
theorem lt_add_one_of_lt (h : n < m) : n < m + 1 := .step h
theorem succ_lt_succ (h : n < m) : succ n < succ m := succ_le_succ h
theorem lt_of_succ_lt_succ (h : succ n < succ m) : n < m := le_of_succ_le_succ h
theorem lt_of_succ_lt (h : succ n < m) : n < m := Nat.le_of_lt h
@[simp] theorem succ_le_succ_iff : succ n ≤ succ m ↔ n ≤ m := ⟨le_of_succ_le_succ, succ_le_succ⟩
@[simp] theorem succ_lt_succ_iff : succ n < succ m ↔ n < m := ⟨lt_of_succ_lt_succ, succ_lt_succ⟩
@[simp] theorem not_lt_zero (n : Nat) : ¬(n < 0) := not_succ_le_zero n
@[simp] protected theorem zero_lt_one : (0 : Nat) < 1 := .refl
protected theorem one_pos : (0 : Nat) < 1 := .refl
@[simp] theorem zero_lt_add_one (n : Nat) : 0 < n + 1 := zero_lt_succ n
theorem succ_pos (n : Nat) : 0 < succ n := zero_lt_succ n
protected theorem pos_of_ne_zero (h : n ≠ 0) : 0 < n := by
  cases n with
  | zero => exact absurd rfl h
  | succ n => exact zero_lt_succ n
protected theorem ne_of_gt (h : m < n) : n ≠ m := fun e => Nat.lt_irrefl m (e ▸ h)
protected theorem ne_of_lt (h : n < m) : n ≠ m := fun e => Nat.lt_irrefl n (e ▸ h)
protected theorem ne_of_lt' (h : m < n) : n ≠ m := Nat.ne_of_gt h
theorem ne_zero_of_lt (h : m < n) : n ≠ 0 := fun e => not_lt_zero m (e ▸ h)
protected theorem pos_iff_ne_zero : 0 < n ↔ n ≠ 0 := ⟨ne_zero_of_lt, Nat.pos_of_ne_zero⟩
theorem zero_lt_of_lt (h : m < n) : 0 < n := Nat.lt_of_le_of_lt (zero_le m) h
protected theorem lt_of_lt_of_eq (h : n < m) (e : m = k) : n < k := e ▸ h
protected theorem lt_of_le_of_ne (h : n ≤ m) (e : n ≠ m) : n < m := (Nat.eq_or_lt_of_le h).resolve_left e
protected theorem lt_asymm (h : n < m) : ¬(m < n) := fun k => Nat.lt_irrefl n (Nat.lt_trans h k)
protected theorem not_le_of_lt (h : m < n) : ¬(n ≤ m) := not_le_of_gt h
protected theorem not_lt_of_le (h : n ≤ m) : ¬(m < n) := fun k => not_le_of_gt k h
theorem not_lt_of_ge (h : n ≥ m) : ¬(n < m) := Nat.not_lt_of_le h
protected theorem lt_of_not_le (h : ¬(n ≤ m)) : m < n := (Nat.lt_or_ge m n).resolve_right h
protected theorem le_of_not_lt (h : ¬(n < m)) : m ≤ n := (Nat.lt_or_ge n m).resolve_left h
protected theorem le_of_not_le (h : ¬(n ≤ m)) : m ≤ n := Nat.le_of_lt (Nat.lt_of_not_le h)
protected theorem lt_of_not_ge (h : ¬(n ≥ m)) : n < m := Nat.lt_of_not_le h
@[simp] protected theorem not_le : ¬(n ≤ m) ↔ m < n := ⟨Nat.lt_of_not_le, Nat.not_le_of_lt⟩
@[simp] protected theorem not_lt : ¬(n < m) ↔ m ≤ n := ⟨Nat.le_of_not_lt, Nat.not_lt_of_le⟩
protected theorem lt_iff_le_not_le : m < n ↔ m ≤ n ∧ ¬(n ≤ m) :=
  ⟨fun h => ⟨Nat.le_of_lt h, Nat.not_le_of_lt h⟩, fun h => Nat.lt_of_not_le h.2⟩
protected theorem lt_iff_le_and_ne : m < n ↔ m ≤ n ∧ m ≠ n :=
  ⟨fun h => ⟨Nat.le_of_lt h, Nat.ne_of_lt h⟩, fun h => Nat.lt_of_le_of_ne h.1 h.2⟩
protected theorem le_iff_lt_or_eq : n ≤ m ↔ n < m ∨ n = m :=
  ⟨fun h => (Nat.eq_or_lt_of_le h).symm, fun h => h.elim Nat.le_of_lt Nat.le_of_eq⟩
protected theorem lt_or_eq_of_le (h : n ≤ m) : n < m ∨ n = m := (Nat.eq_or_lt_of_le h).symm
protected theorem le_antisymm_iff : n = m ↔ n ≤ m ∧ m ≤ n :=
  ⟨fun h => ⟨Nat.le_of_eq h, Nat.le_of_eq h.symm⟩, fun h => Nat.le_antisymm h.1 h.2⟩
protected theorem lt_trichotomy (n m : Nat) : n < m ∨ n = m ∨ m < n :=
  (Nat.lt_or_ge n m).elim .inl fun h => (Nat.eq_or_lt_of_le h).elim (fun e => .inr (.inl e.symm)) fun k => .inr (.inr k)
theorem eq_zero_of_le_zero (h : n ≤ 0) : n = 0 := Nat.le_antisymm h (zero_le n)
theorem le_zero : n ≤ 0 ↔ n = 0 := ⟨eq_zero_of_le_zero, fun h => Nat.le_of_eq h⟩
theorem eq_zero_or_pos (n : Nat) : n = 0 ∨ 0 < n := (Nat.eq_or_lt_of_le (zero_le n)).elim (fun e => .inl e.symm) .inr
theorem eq_zero_of_not_pos (h : ¬(0 < n)) : n = 0 := eq_zero_of_le_zero (Nat.le_of_not_lt h)

/-! order and arithmetic -/
theorem le_add_right_of_le (h : n ≤ m) : n ≤ m + k := Nat.le_trans h (le_add_right m k)
theorem le_add_left_of_le (h : n ≤ m) : n ≤ k + m := Nat.le_trans h (le_add_left m k)
protected theorem add_lt_add_left (h : n < m) (k : Nat) : k + n < k + m := Nat.add_le_add_left h k
protected theorem add_lt_add_right (h : n < m) (k : Nat) : n + k < m + k := by
  rw [Nat.add_comm n, Nat.add_comm m]; exact Nat.add_lt_add_left h k
protected theorem add_lt_add (h : n < m) (h' : k < l) : n + k < m + l :=
  Nat.lt_trans (Nat.add_lt_add_right h k) (Nat.add_lt_add_left h' m)
protected theorem add_lt_add_of_le_of_lt (h : n ≤ m) (h' : k < l) : n + k < m + l :=
  Nat.lt_of_le_of_lt (Nat.add_le_add_right h k) (Nat.add_lt_add_left h' m)
protected theorem add_lt_add_of_lt_of_le (h : n < m) (h' : k ≤ l) : n + k < m + l :=
  Nat.lt_of_lt_of_le (Nat.add_lt_add_right h k) (Nat.add_le_add_left h' m)
protected theorem le_of_add_le_add_right (h : n + k ≤ m + k) : n ≤ m := by
  rw [Nat.add_comm n, Nat.add_comm m] at h; exact Nat.le_of_add_le_add_left h
protected theorem lt_of_add_lt_add_left (h : k + n < k + m) : n < m := Nat.le_of_add_le_add_left h
protected theorem lt_of_add_lt_add_right (h : n + k < m + k) : n < m := by
  rw [Nat.add_comm n, Nat.add_comm m] at h; exact Nat.lt_of_add_lt_add_left h
@[simp] protected theorem add_le_add_iff_left : k + n ≤ k + m ↔ n ≤ m :=
  ⟨Nat.le_of_add_le_add_left, fun h => Nat.add_le_add_left h k⟩
@[simp] protected theorem add_le_add_iff_right : n + k ≤ m + k ↔ n ≤ m :=
  ⟨Nat.le_of_add_le_add_right, fun h => Nat.add_le_add_right h k⟩
@[simp] protected theorem add_lt_add_iff_left : k + n < k + m ↔ n < m :=
  ⟨Nat.lt_of_add_lt_add_left, fun h => Nat.add_lt_add_left h k⟩
@[simp] protected theorem add_lt_add_iff_right : n + k < m + k ↔ n < m :=
  ⟨Nat.lt_of_add_lt_add_right, fun h => Nat.add_lt_add_right h k⟩
protected theorem lt_add_of_pos_right (h : 0 < k) : n < n + k := Nat.add_lt_add_left h n
protected theorem lt_add_of_pos_left (h : 0 < k) : n < k + n := by rw [Nat.add_comm]; exact Nat.lt_add_of_pos_right h
protected theorem lt_add_right (k : Nat) (h : n < m) : n < m + k := Nat.lt_of_lt_of_le h (le_add_right m k)
protected theorem lt_add_left (k : Nat) (h : n < m) : n < k + m := Nat.lt_of_lt_of_le h (le_add_left m k)
protected theorem le.dest : ∀ {n m : Nat}, n ≤ m → ∃ k, n + k = m := by
  intro n m h
  induction h with
  | refl => exact ⟨0, rfl⟩
  | step _ ih => exact ih.elim fun k e => ⟨k + 1, congrArg succ e⟩
protected theorem exists_eq_add_of_le (h : m ≤ n) : ∃ k, n = m + k := (le.dest h).elim fun k e => ⟨k, e.symm⟩
protected theorem exists_eq_add_of_lt (h : m < n) : ∃ k, n = m + k + 1 :=
  (le.dest h).elim fun k e => ⟨k, by rw [← e]; exact (succ_add m k)⟩
theorem le.intro (h : n + k = m) : n ≤ m := h ▸ le_add_right n k
protected theorem le_iff_exists_add : n ≤ m ↔ ∃ k, m = n + k :=
  ⟨Nat.exists_eq_add_of_le, fun h => h.elim fun k e => e ▸ le_add_right n k⟩
protected theorem eq_zero_of_add_eq_zero_right (h : n + m = 0) : n = 0 := eq_zero_of_le_zero (h ▸ le_add_right n m)
protected theorem eq_zero_of_add_eq_zero_left (h : n + m = 0) : m = 0 := eq_zero_of_le_zero (h ▸ le_add_left m n)
theorem eq_zero_of_add_eq_zero (h : n + m = 0) : n = 0 ∧ m = 0 :=
  ⟨Nat.eq_zero_of_add_eq_zero_right h, Nat.eq_zero_of_add_eq_zero_left h⟩
@[simp] protected theorem add_eq_zero_iff : n + m = 0 ↔ n = 0 ∧ m = 0 :=
  ⟨eq_zero_of_add_eq_zero, fun h => by rw [h.1, h.2]⟩
@[simp] protected theorem add_eq_left : n + m = n ↔ m = 0 := Nat.add_left_cancel_iff (k := 0)
@[simp] protected theorem add_eq_right : n + m = m ↔ n = 0 := by
  rw [Nat.add_comm]; exact Nat.add_eq_left
@[simp] protected theorem left_eq_add : n = n + m ↔ m = 0 := ⟨fun h => Nat.add_eq_left.mp h.symm, fun h => by rw [h]; rfl⟩
protected theorem mul_le_mul_right (k : Nat) (h : n ≤ m) : n * k ≤ m * k := by
  rw [Nat.mul_comm n, Nat.mul_comm m]; exact Nat.mul_le_mul_left k h
protected theorem mul_le_mul {p q : Nat} (h₁ : p ≤ m) (h₂ : q ≤ n) : p * q ≤ m * n :=
  Nat.le_trans (Nat.mul_le_mul_right q h₁) (Nat.mul_le_mul_left m h₂)
protected theorem mul_lt_mul_of_pos_left (h : n < m) (hk : 0 < k) : k * n < k * m := by
  have : k * n + k ≤ k * m := Nat.mul_le_mul_left k h
  exact Nat.lt_of_lt_of_le (Nat.lt_add_of_pos_right hk) this
protected theorem mul_lt_mul_of_pos_right (h : n < m) (hk : 0 < k) : n * k < m * k := by
  rw [Nat.mul_comm n, Nat.mul_comm m]; exact Nat.mul_lt_mul_of_pos_left h hk
protected theorem mul_pos (hn : 0 < n) (hm : 0 < m) : 0 < n * m := by
  have h := Nat.mul_lt_mul_of_pos_left hm hn
  rw [Nat.mul_zero] at h
  exact h
protected theorem eq_of_mul_eq_mul_left (h : 0 < k) (e : k * n = k * m) : n = m := by
  rcases Nat.lt_trichotomy n m with l | r | g
  · exact absurd e (Nat.ne_of_lt (Nat.mul_lt_mul_of_pos_left l h))
  · exact r
  · exact absurd e.symm (Nat.ne_of_lt (Nat.mul_lt_mul_of_pos_left g h))
protected theorem mul_eq_zero : m * n = 0 ↔ m = 0 ∨ n = 0 := by
  constructor
  · intro h
    cases m with
    | zero => exact .inl rfl
    | succ m => cases n with
      | zero => exact .inr rfl
      | succ n => exact absurd h (Nat.ne_of_gt (Nat.mul_pos (zero_lt_succ m) (zero_lt_succ n)))
  · intro h
    rcases h with h | h
    · rw [h, Nat.zero_mul]
    · rw [h, Nat.mul_zero]
attribute [simp] Nat.mul_eq_zero
theorem pos_pow_of_pos (h : 0 < n) (m : Nat) : 0 < n ^ m := by
  induction m with
  | zero => exact .refl
  | succ m ih => exact Nat.mul_pos ih h

/-! subtraction -/
@[simp] protected theorem sub_zero (n : Nat) : n - 0 = n := rfl
theorem sub_succ (n m : Nat) : n - succ m = pred (n - m) := rfl
theorem succ_sub_succ (n m : Nat) : succ n - succ m = n - m := Nat.add_sub_cancel.sub_succ_succ n m
theorem succ_sub_succ_eq_sub (n m : Nat) : succ n - succ m = n - m := succ_sub_succ n m
@[simp] theorem add_one_sub_one (n : Nat) : n + 1 - 1 = n := rfl
theorem succ_sub_one (n : Nat) : succ n - 1 = n := rfl
@[simp] protected theorem zero_sub (n : Nat) : 0 - n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.sub_succ, ih]; rfl
@[simp] protected theorem sub_self (n : Nat) : n - n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => exact (succ_sub_succ n n).trans ih
attribute [simp] Nat.add_sub_cancel
@[simp] protected theorem add_sub_cancel_left (n m : Nat) : n + m - n = m := by rw [Nat.add_comm, Nat.add_sub_cancel]
protected theorem add_sub_add_right (n k m : Nat) : n + k - (m + k) = n - m := by
  induction k with
  | zero => rfl
  | succ k ih => exact (succ_sub_succ _ _).trans ih
protected theorem add_sub_add_left (k n m : Nat) : k + n - (k + m) = n - m := by
  rw [Nat.add_comm k, Nat.add_comm k, Nat.add_sub_add_right]
protected theorem sub_add_cancel (h : m ≤ n) : n - m + m = n := by
  obtain ⟨k, e⟩ := Nat.exists_eq_add_of_le h
  rw [e, Nat.add_sub_cancel_left, Nat.add_comm]
protected theorem add_sub_of_le (h : m ≤ n) : m + (n - m) = n := by rw [Nat.add_comm]; exact Nat.sub_add_cancel h
protected theorem add_sub_assoc (h : k ≤ m) (n : Nat) : n + m - k = n + (m - k) := by
  obtain ⟨l, e⟩ := Nat.exists_eq_add_of_le h
  rw [e, Nat.add_sub_cancel_left, Nat.add_left_comm, Nat.add_sub_cancel_left]
protected theorem sub_sub (n m k : Nat) : n - m - k = n - (m + k) := by
  induction k with
  | zero => rfl
  | succ k ih => rw [Nat.sub_succ, ih]; rfl
protected theorem sub_le (n m : Nat) : n - m ≤ n := by
  induction m with
  | zero => exact .refl
  | succ m ih => exact Nat.le_trans (pred_le _) ih
where pred_le : ∀ a : Nat, pred a ≤ a
  | 0 => .refl
  | a + 1 => le_succ a
theorem pred_le (n : Nat) : pred n ≤ n := Nat.sub_le.pred_le n
protected theorem sub_eq_zero_of_le (h : n ≤ m) : n - m = 0 := by
  obtain ⟨k, e⟩ := Nat.exists_eq_add_of_le h
  rw [e, ← Nat.sub_sub, Nat.sub_self, Nat.zero_sub]
protected theorem le_of_sub_eq_zero (h : n - m = 0) : n ≤ m := by
  rcases Nat.le_total n m with k | k
  · exact k
  · have e := Nat.sub_add_cancel k
    rw [h, Nat.zero_add] at e
    exact Nat.le_of_eq e.symm
protected theorem sub_eq_zero_iff_le : n - m = 0 ↔ n ≤ m := ⟨Nat.le_of_sub_eq_zero, Nat.sub_eq_zero_of_le⟩
protected theorem sub_pos_of_lt (h : m < n) : 0 < n - m :=
  Nat.pos_of_ne_zero fun e => Nat.lt_irrefl m (Nat.lt_of_lt_of_le h (Nat.le_of_sub_eq_zero e))
protected theorem sub_lt (hn : 0 < n) (hm : 0 < m) : n - m < n := by
  cases n with
  | zero => exact absurd hn (Nat.lt_irrefl 0)
  | succ n => cases m with
    | zero => exact absurd hm (Nat.lt_irrefl 0)
    | succ m => rw [succ_sub_succ]; exact lt_succ_of_le (Nat.sub_le n m)
protected theorem sub_le_sub_right (h : n ≤ m) (k : Nat) : n - k ≤ m - k := by
  induction k with
  | zero => exact h
  | succ k ih => exact pred_le_pred ih
where pred_le_pred : ∀ {a b : Nat}, a ≤ b → pred a ≤ pred b
  | 0, _, _ => zero_le _
  | _ + 1, 0, h => absurd h (not_succ_le_zero _)
  | _ + 1, _ + 1, h => le_of_succ_le_succ h
protected theorem sub_mul (n m k : Nat) : (n - m) * k = n * k - m * k := by
  rcases Nat.le_total m n with h | h
  · obtain ⟨l, e⟩ := Nat.exists_eq_add_of_le h
    rw [e, Nat.add_sub_cancel_left, Nat.add_mul, Nat.add_sub_cancel_left]
  · rw [Nat.sub_eq_zero_of_le h, Nat.sub_eq_zero_of_le (Nat.mul_le_mul_right k h), Nat.zero_mul]
protected theorem mul_sub (k n m : Nat) : k * (n - m) = k * n - k * m := by
  rw [Nat.mul_comm, Nat.sub_mul, Nat.mul_comm n, Nat.mul_comm m]

/-! minimum and maximum -/
instance _root_.instMaxNat : Max Nat := ⟨fun a b => if a ≤ b then b else a⟩
instance _root_.instMinNat : Min Nat := ⟨fun a b => if a ≤ b then a else b⟩
protected theorem max_def {n m : Nat} : max n m = if n ≤ m then m else n := rfl
protected theorem min_def {n m : Nat} : min n m = if n ≤ m then n else m := rfl
protected theorem max_eq_right (h : n ≤ m) : max n m = m := if_pos h
protected theorem min_eq_left (h : n ≤ m) : min n m = n := if_pos h
protected theorem max_eq_left (h : m ≤ n) : max n m = n := by
  rcases Nat.eq_or_lt_of_le h with e | l
  · rw [e]; exact if_pos (Nat.le_refl n)
  · exact if_neg (Nat.not_le_of_lt l)
protected theorem min_eq_right (h : m ≤ n) : min n m = m := by
  rcases Nat.eq_or_lt_of_le h with e | l
  · rw [e]; exact if_pos (Nat.le_refl n)
  · exact if_neg (Nat.not_le_of_lt l)
protected theorem max_comm (n m : Nat) : max n m = max m n := by
  rcases Nat.le_total n m with h | h
  · rw [Nat.max_eq_right h, Nat.max_eq_left h]
  · rw [Nat.max_eq_left h, Nat.max_eq_right h]
protected theorem min_comm (n m : Nat) : min n m = min m n := by
  rcases Nat.le_total n m with h | h
  · rw [Nat.min_eq_left h, Nat.min_eq_right h]
  · rw [Nat.min_eq_right h, Nat.min_eq_left h]
protected theorem le_max_left (n m : Nat) : n ≤ max n m := by
  rcases Nat.le_total n m with h | h
  · rw [Nat.max_eq_right h]; exact h
  · rw [Nat.max_eq_left h]
protected theorem le_max_right (n m : Nat) : m ≤ max n m := by rw [Nat.max_comm]; exact Nat.le_max_left m n
protected theorem min_le_left (n m : Nat) : min n m ≤ n := by
  rcases Nat.le_total n m with h | h
  · rw [Nat.min_eq_left h]
  · rw [Nat.min_eq_right h]; exact h
protected theorem min_le_right (n m : Nat) : min n m ≤ m := by rw [Nat.min_comm]; exact Nat.min_le_left m n
@[simp] protected theorem max_self (n : Nat) : max n n = n := Nat.max_eq_right (Nat.le_refl n)
@[simp] protected theorem min_self (n : Nat) : min n n = n := Nat.min_eq_left (Nat.le_refl n)

/-! divisibility -/
protected theorem dvd_mul_right (a b : Nat) : a ∣ a * b := ⟨b, rfl⟩
protected theorem dvd_mul_left (a b : Nat) : a ∣ b * a := ⟨b, Nat.mul_comm b a⟩
protected theorem dvd_zero (a : Nat) : a ∣ 0 := ⟨0, rfl⟩
protected theorem one_dvd (n : Nat) : 1 ∣ n := ⟨n, (Nat.one_mul n).symm⟩
protected theorem dvd_mul_right_of_dvd {a b : Nat} (h : a ∣ b) (c : Nat) : a ∣ b * c :=
  Nat.dvd_trans h (Nat.dvd_mul_right b c)
protected theorem dvd_mul_left_of_dvd {a b : Nat} (h : a ∣ b) (c : Nat) : a ∣ c * b :=
  Nat.dvd_trans h (Nat.dvd_mul_left b c)
theorem eq_zero_of_zero_dvd {a : Nat} (h : 0 ∣ a) : a = 0 := h.elim fun c e => e.trans (Nat.zero_mul c)
theorem le_of_dvd {m n : Nat} (h : 0 < n) (d : m ∣ n) : m ≤ n := by
  obtain ⟨k, e⟩ := d
  cases k with
  | zero => rw [e, Nat.mul_zero] at h; exact absurd h (Nat.lt_irrefl 0)
  | succ k => rw [e]; exact le_add_left m (m * k)
end Nat
