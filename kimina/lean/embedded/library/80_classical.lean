/-! Classical logic; excluded middle by Diaconescu's argument. -/
namespace Classical
noncomputable def choose {α : Sort u} {p : α → Prop} (h : ∃ x, p x) : α := (choice (α := {x : α // p x}) (h.elim fun w k => ⟨⟨w, k⟩⟩)).val
theorem choose_spec {α : Sort u} {p : α → Prop} (h : ∃ x, p x) : p (choose h) := (choice (α := {x : α // p x}) (h.elim fun w k => ⟨⟨w, k⟩⟩)).property
theorem em (p : Prop) : p ∨ ¬p := by
  let U (x : Prop) : Prop := x = True ∨ p
  let V (x : Prop) : Prop := x = False ∨ p
  have exU : ∃ x, U x := ⟨True, Or.inl rfl⟩
  have exV : ∃ x, V x := ⟨False, Or.inl rfl⟩
  have hu : U (choose exU) := choose_spec exU
  have hv : V (choose exV) := choose_spec exV
  rcases hu with eu | hp
  · rcases hv with ev | hp
    · right
      intro hp
      have e : U = V := funext fun x => propext ⟨fun _ => Or.inr hp, fun _ => Or.inr hp⟩
      have k : ∀ (W : Prop → Prop) (h : ∃ x, W x) (e : U = W), choose exU = choose h := by
        intro W h e; subst e; rfl
      have t : True = False := eu.symm.trans ((k V exV e).trans ev)
      exact t.mp trivial
    · exact .inl hp
  · exact .inl hp
theorem byContradiction {p : Prop} (h : ¬p → False) : p := (em p).elim id (fun k => (h k).elim)
theorem byCases {p q : Prop} (h : p → q) (k : ¬p → q) : q := (em p).elim h k
theorem not_not {a : Prop} : ¬¬a ↔ a := ⟨fun h => byContradiction h, not_not_intro⟩
noncomputable scoped instance (priority := 10) propDecidable (a : Prop) : Decidable a := choice ((em a).elim (fun h => ⟨isTrue h⟩) (fun h => ⟨isFalse h⟩))
theorem not_and_iff_not_or_not {a b : Prop} : ¬(a ∧ b) ↔ ¬a ∨ ¬b := ⟨fun h => (em a).elim (fun ha => .inr fun hb => h ⟨ha, hb⟩) .inl, fun h k => h.elim (· k.1) (· k.2)⟩
theorem not_forall {α : Sort u} {p : α → Prop} : (¬∀ x, p x) ↔ ∃ x, ¬p x :=
  ⟨fun h => byContradiction fun k => h fun x => byContradiction fun n => k ⟨x, n⟩, fun ⟨x, n⟩ h => n (h x)⟩
end Classical
attribute [simp] Classical.not_not

