/-! Divisibility. -/
namespace Nat
instance _root_.instDvdNat : Dvd Nat := ⟨fun a b => ∃ c, b = a * c⟩
protected theorem dvd_refl (a : Nat) : a ∣ a := ⟨1, by simp⟩
protected theorem dvd_trans {a b c : Nat} (h₁ : a ∣ b) (h₂ : b ∣ c) : a ∣ c := by
  obtain ⟨x, hx⟩ := h₁
  obtain ⟨y, hy⟩ := h₂
  exact ⟨x * y, by rw [hy, hx, Nat.mul_assoc]⟩
protected theorem dvd_add {a b c : Nat} (h₁ : a ∣ b) (h₂ : a ∣ c) : a ∣ b + c := by
  obtain ⟨x, hx⟩ := h₁
  obtain ⟨y, hy⟩ := h₂
  exact ⟨x + y, by rw [hy, hx, Nat.mul_add]⟩
end Nat

