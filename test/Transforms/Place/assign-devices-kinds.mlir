// Each kind of decision, with its words.
// RUN: split-file %s %t
// RUN: gantry-opt %t/kinds.mlir --gantry-place="rules=op:Abs=GPU:1,op:Erf=CPU:0 lock=%t/lock.txt" --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: @kinds
// CHECK: gantry.relu {{.*}}device:GPU:0">{{.*}}<"default", "GPUs before CPUs, then the lowest id">
// CHECK: gantry.neg {{.*}}device:CPU:0">{{.*}}<"requested", "asked for at {{.*}}kinds.mlir:4:8">
// CHECK: gantry.abs {{.*}}device:GPU:1">{{.*}}<"rule", "--place 'op:Abs=GPU:1'">
// CHECK: gantry.exp {{.*}}device:GPU:1">{{.*}}<"lock", "locked by {{.*}}lock.txt:3">
// CHECK: gantry.sin {{.*}}device:GPU:1">{{.*}}<"auto", "the search found it best">
// CHECK: gantry.cos {{.*}}device:CPU:0">{{.*}}<"inferred", "goes with 'Neg', asked for at {{.*}}kinds.mlir:4:8">
// CHECK: gantry.erf {{.*}}device:GPU:1">{{.*}}<"requested", {{.*}}rejected = ["CPU:0: what is stronger says otherwise"]>
// CHECK: gantry.tanh {{.*}}device:GPU:0">{{.*}}<"requested", "asked for at {{.*}}", rejected = ["GPU:7: unknown device"], fall_back>

//--- kinds.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @kinds(%x: tensor<4xf32>) {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.neg %x {gantry.device = #gantry.device<"CPU">, gantry.colocate = ["together"]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.exp %x {gantry.name = "e"} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.sin %x {gantry.search = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.cos %x {gantry.colocate = ["together"]} : (tensor<4xf32>) -> tensor<4xf32>
  %6 = gantry.erf %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gantry.tanh %x {gantry.device = #gantry.device<"GPU:7">, gantry.soft = #gantry<soft prefer>} : (tensor<4xf32>) -> tensor<4xf32>
  return
  }
}

//--- lock.txt
# gantry placement lock 1

kinds e /job:localhost/replica:0/task:0/device:GPU:1
