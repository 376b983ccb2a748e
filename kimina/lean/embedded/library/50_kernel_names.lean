/-! Names with a meaning to Lean's kernel.

The kernel computes `Nat.add sub mul div mod pow gcd log2 beq ble land lor xor shiftLeft shiftRight` of literals with big
numbers, whatever the definitions say. Each must therefore be declared here, and with the right meaning: a name left
free could be defined wrongly in a checked text, and `False` would follow without any axiom. -/
namespace Nat
/-- Division by repeated subtraction; the first argument bounds the number of steps. -/
def divSteps : Nat → Nat → Nat → Nat
  | 0, _, _ => 0
  | k + 1, n, m => if 0 < m ∧ m ≤ n then divSteps k (n - m) m + 1 else 0
protected def div (n m : Nat) : Nat := divSteps n n m
protected def mod (n m : Nat) : Nat := n - m * Nat.div n m
instance _root_.instDivNat : Div Nat := ⟨Nat.div⟩
instance instModNat : Mod Nat := ⟨Nat.mod⟩
def gcdSteps : Nat → Nat → Nat → Nat
  | 0, _, n => n
  | k + 1, m, n => if m = 0 then n else gcdSteps k (Nat.mod n m) m
def gcd (m n : Nat) : Nat := gcdSteps (m + 1) m n
def log2Steps : Nat → Nat → Nat
  | 0, _ => 0
  | k + 1, n => if n < 2 then 0 else log2Steps k (Nat.div n 2) + 1
def log2 (n : Nat) : Nat := log2Steps n n
def shiftLeft (n m : Nat) : Nat := n * 2 ^ m
def shiftRight (n m : Nat) : Nat := Nat.div n (2 ^ m)
def bitSteps (f : Bool → Bool → Bool) : Nat → Nat → Nat → Nat
  | 0, _, _ => 0
  | k + 1, a, b => cond (f (beq (Nat.mod a 2) 1) (beq (Nat.mod b 2) 1)) 1 0 + 2 * bitSteps f k (Nat.div a 2) (Nat.div b 2)
def land (a b : Nat) : Nat := bitSteps and (a + b) a b
def lor (a b : Nat) : Nat := bitSteps or (a + b) a b
def xor (a b : Nat) : Nat := bitSteps (fun x y => cond x (not y) y) (a + b) a b
end Nat

/-! The kernel evaluates these two with compiled code. As in Lean itself their bodies mention an axiom, so that a
theorem which uses them reports it. -/
axiom Lean.trustCompiler : True
opaque Lean.reduceBool (b : Bool) : Bool :=
  have := Lean.trustCompiler
  b
opaque Lean.reduceNat (n : Nat) : Nat :=
  have := Lean.trustCompiler
  n
axiom Lean.ofReduceBool (a b : Bool) (h : Lean.reduceBool a = b) : a = b
axiom Lean.ofReduceNat (a b : Nat) (h : Lean.reduceNat a = b) : a = b
