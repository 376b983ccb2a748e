/-! Lists. -/
namespace List
variable {α : Type u} {β : Type v}
protected def append : List α → List α → List α
  | [], ys => ys
  | x :: xs, ys => x :: List.append xs ys
instance _root_.instAppendList : Append (List α) := ⟨List.append⟩
def length : List α → Nat
  | [] => 0
  | _ :: xs => length xs + 1
def map (f : α → β) : List α → List β
  | [] => []
  | x :: xs => f x :: map f xs
inductive Mem : List α → α → Prop
  | head {a : α} (l : List α) : Mem (a :: l) a
  | tail {a : α} (b : α) {l : List α} : Mem l a → Mem (b :: l) a
@[simp] theorem nil_append (xs : List α) : [] ++ xs = xs := rfl
@[simp] theorem cons_append (x : α) (xs ys : List α) : (x :: xs) ++ ys = x :: (xs ++ ys) := rfl
@[simp] theorem length_nil : length ([] : List α) = 0 := rfl
@[simp] theorem length_cons (x : α) (xs : List α) : length (x :: xs) = length xs + 1 := rfl
@[simp] theorem append_nil (xs : List α) : xs ++ [] = xs := by induction xs with
  | nil => rfl
  | cons x xs ih => rw [cons_append, ih]
@[simp] theorem append_assoc (xs ys zs : List α) : xs ++ ys ++ zs = xs ++ (ys ++ zs) := by
  induction xs with
  | nil => rfl
  | cons x xs ih => simp [ih]
@[simp] theorem length_append (xs ys : List α) : length (xs ++ ys) = length xs + length ys := by
  induction xs with
  | nil => simp
  | cons x xs ih => simp [ih, Nat.add_right_comm]
instance _root_.instMembershipList : Membership α (List α) := ⟨fun l a => Mem l a⟩
@[simp] theorem not_mem_nil {a : α} : ¬a ∈ ([] : List α) := fun h => nomatch h
theorem mem_cons_self {a : α} {l : List α} : a ∈ a :: l := .head l
theorem mem_cons_of_mem (y : α) {a : α} {l : List α} (h : a ∈ l) : a ∈ y :: l := .tail y h
@[simp] theorem mem_cons {a b : α} {l : List α} : a ∈ b :: l ↔ a = b ∨ a ∈ l :=
  ⟨fun h => match h with
    | .head _ => .inl rfl
    | .tail _ h => .inr h,
   fun h => h.elim (fun e => e ▸ mem_cons_self) (mem_cons_of_mem b)⟩
theorem eq_of_mem_singleton {a b : α} (h : a ∈ [b]) : a = b := (mem_cons.mp h).elim id fun k => absurd k not_mem_nil
@[simp] theorem mem_append {a : α} {s t : List α} : a ∈ s ++ t ↔ a ∈ s ∨ a ∈ t := by
  induction s with
  | nil => simp
  | cons x s ih => simp [ih, or_assoc]
instance instDecidableMemListOfDecidableEq [DecidableEq α] (a : α) : (l : List α) → Decidable (a ∈ l)
  | [] => isFalse not_mem_nil
  | b :: l => match decEq a b, instDecidableMemListOfDecidableEq a l with
    | isTrue e, _ => isTrue (mem_cons.mpr (.inl e))
    | _, isTrue h => isTrue (mem_cons.mpr (.inr h))
    | isFalse n, isFalse m => isFalse fun h => (mem_cons.mp h).elim n m
@[simp] theorem map_nil {f : α → β} : map f [] = [] := rfl
@[simp] theorem map_cons {f : α → β} {a : α} {l : List α} : map f (a :: l) = f a :: map f l := rfl
@[simp] theorem length_map {as : List α} (f : α → β) : length (map f as) = length as := by
  induction as with
  | nil => rfl
  | cons a as ih => simp [ih]
@[simp] theorem map_append {f : α → β} {l₁ l₂ : List α} : map f (l₁ ++ l₂) = map f l₁ ++ map f l₂ := by
  induction l₁ with
  | nil => rfl
  | cons a as ih => simp [ih]
theorem map_map {γ : Type w} {g : β → γ} {f : α → β} {l : List α} : map g (map f l) = map (g ∘ f) l := by
  induction l with
  | nil => rfl
  | cons a as ih => simp [ih]
def reverseAux : List α → List α → List α
  | [], r => r
  | a :: l, r => reverseAux l (a :: r)
def reverse (as : List α) : List α := reverseAux as []
theorem reverseAux_eq {as bs : List α} : reverseAux as bs = reverse as ++ bs := by
  induction as generalizing bs with
  | nil => rfl
  | cons a as ih =>
    show reverseAux as (a :: bs) = reverseAux as [a] ++ bs
    rw [ih, ih (bs := [a]), append_assoc]; rfl
@[simp] theorem reverse_nil : reverse ([] : List α) = [] := rfl
@[simp] theorem reverse_cons {a : α} {as : List α} : reverse (a :: as) = reverse as ++ [a] :=
  reverseAux_eq (as := as) (bs := [a])
@[simp] theorem length_reverse {as : List α} : length (reverse as) = length as := by
  induction as with
  | nil => rfl
  | cons a as ih => simp [ih]
@[simp] theorem reverse_append {as bs : List α} : reverse (as ++ bs) = reverse bs ++ reverse as := by
  induction as with
  | nil => simp
  | cons a as ih => simp [ih]
@[simp] theorem reverse_reverse (as : List α) : reverse (reverse as) = as := by
  induction as with
  | nil => rfl
  | cons a as ih => simp [ih]
end List
end
