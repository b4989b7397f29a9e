// Every function on a GPU: instructions alone, each of which rounds once, to the nearest. There is no library
// to call, nothing is fused that is not written so, and subnormal numbers stay.
// REQUIRES: nvptx
// RUN: gantry-opt %s --gantry-expand-math --canonicalize --cse --convert-scf-to-cf --convert-math-to-llvm \
// RUN:     --convert-arith-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90 -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx --implicit-check-not=call --implicit-check-not=.extern \
// RUN:   --implicit-check-not=approx --implicit-check-not=.ftz --implicit-check-not=.full \
// RUN:   --implicit-check-not='{{(add|sub|mul|fma|div|sqrt)[.]f(32|64)}}'

// CHECK: .func{{.*}} functions_f32(
// CHECK: fma.rn.f32
func.func @functions_f32(%x: f32, %y: f32) -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.expm1 %x : f32
  %2 = math.log %x : f32
  %3 = math.log1p %x : f32
  %4 = math.rsqrt %x : f32
  %5 = math.sin %x : f32
  %6 = math.cos %x : f32
  %7 = math.tan %x : f32
  %8 = math.asin %x : f32
  %9 = math.acos %x : f32
  %10 = math.atan %x : f32
  %11 = math.sinh %x : f32
  %12 = math.cosh %x : f32
  %13 = math.tanh %x : f32
  %14 = math.asinh %x : f32
  %15 = math.acosh %x : f32
  %16 = math.atanh %x : f32
  %17 = math.erf %x : f32
  %18 = math.powf %x, %y : f32
  %19 = arith.remf %x, %y : f32
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19 : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
}

// CHECK: .func{{.*}} functions_f64(
// CHECK: fma.rn.f64
func.func @functions_f64(%x: f64, %y: f64) -> (f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64) {
  %0 = math.exp %x : f64
  %1 = math.expm1 %x : f64
  %2 = math.log %x : f64
  %3 = math.log1p %x : f64
  %4 = math.rsqrt %x : f64
  %5 = math.sin %x : f64
  %6 = math.cos %x : f64
  %7 = math.tan %x : f64
  %8 = math.asin %x : f64
  %9 = math.acos %x : f64
  %10 = math.atan %x : f64
  %11 = math.sinh %x : f64
  %12 = math.cosh %x : f64
  %13 = math.tanh %x : f64
  %14 = math.asinh %x : f64
  %15 = math.acosh %x : f64
  %16 = math.atanh %x : f64
  %17 = math.erf %x : f64
  %18 = math.powf %x, %y : f64
  %19 = arith.remf %x, %y : f64
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19 : f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64
}

// What stays as an op of its own, too.
// CHECK: .func{{.*}} roundings(
// CHECK-DAG: sqrt.rn.f32
// CHECK-DAG: cvt.rmi.f32.f32
// CHECK-DAG: cvt.rpi.f32.f32
// CHECK-DAG: cvt.rni.f32.f32
func.func @roundings(%x: f32) -> (f32, f32, f32, f32) {
  %0 = math.sqrt %x : f32
  %1 = math.floor %x : f32
  %2 = math.ceil %x : f32
  %3 = math.roundeven %x : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}
