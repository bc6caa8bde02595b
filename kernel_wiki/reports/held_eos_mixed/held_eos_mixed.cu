// Equation of state of 2 M cells of eight materials mixed at random: a thread per cell, and each material solves for its temperature by its
// own iteration. Nearly every warp walks all eight branches with about 4 lanes active (some 1500 instructions instead of 200): 100 to 150 us.
// Beside it, the cell is a struct of 32 bytes of which 12 are read and 8 written, each field in 32 sectors a request: 128 MB where 40 would do.
#include "../evidence.cuh"

constexpr int CELLS = 1 << 21, THREADS = 256, MOST_STEPS = 24;
constexpr float TOLERANCE = 1e-5f;

struct Cell {
  float density, energy, velocity[3];
  int material;
  float pressure, sound_speed;
};

struct State {
  float pressure, sound_speed;
};

// Each of them: temperature from energy by Newton's method or a fixed point, then pressure and sound speed.
__host__ __device__ inline State gas_with_radiation(float rho, float e) {
  float t = 2.f;
  for (int n = 0; n < MOST_STEPS; ++n) {
    float t3 = t * t * t;
    float step = (t + 0.3f * t3 * t / rho - e) / (1.f + 1.2f * t3 / rho);
    t -= step;
    if (fabsf(step) < TOLERANCE * t) break;
  }
  return {0.6667f * rho * t + 0.1f * t * t * t * t, sqrtf(1.6667f * t)};
}

__host__ __device__ inline State einstein_solid(float rho, float e) {
  float t = e + 1.f;
  for (int n = 0; n < MOST_STEPS; ++n) {
    float grown = expf(1.f / t);
    float held = 1.f / (grown - 1.f);
    float step = (held - e) / (held * held * grown / (t * t));
    t -= step;
    if (fabsf(step) < TOLERANCE * t) break;
  }
  return {2.f * rho * t + 5.f * (rho - 1.f), sqrtf(5.f + 2.f * t)};
}

__host__ __device__ inline State van_der_waals(float rho, float e) {
  float t = 3.f;
  for (int n = 0; n < MOST_STEPS; ++n) {
    float step = (1.5f * t + 0.2f * t * t - 0.4f * rho - e) / (1.5f + 0.4f * t);
    t -= step;
    if (fabsf(step) < TOLERANCE * t) break;
  }
  float room = 1.f - 0.2f * rho;
  return {rho * t / room - 0.4f * rho * rho, sqrtf(1.4f * t / (room * room))};
}

__host__ __device__ inline State ionising_plasma(float rho, float e) {
  float ionised = 0.5f;
  for (int n = 0; n < MOST_STEPS; ++n) {
    float t = e / (1.f + 0.5f * ionised);
    float k = t * expf(-1.f / t) / rho;
    float next = 0.5f * (sqrtf(k * k + 4.f * k) - k);
    float step = next - ionised;
    ionised = next;
    if (fabsf(step) < TOLERANCE) break;
  }
  float t = e / (1.f + 0.5f * ionised);
  return {(1.f + ionised) * rho * t, sqrtf((1.f + ionised) * t)};
}

__host__ __device__ inline State birch_murnaghan(float rho, float e) {
  float root = 1.5f;  // cube root of the compression
  for (int n = 0; n < MOST_STEPS; ++n) {
    float step = (root - rho / (root * root)) * 0.3333f;
    root -= step;
    if (fabsf(step) < TOLERANCE * root) break;
  }
  float r2 = root * root, r5 = r2 * r2 * root;
  return {1.5f * (r5 * r2 - r5) * (1.f + 0.75f * (r2 - 1.f)) + 0.5f * rho * e, sqrtf(1.f + r2)};
}

__host__ __device__ inline State burning_explosive(float rho, float e) {
  float burnt = 0.2f;
  for (int n = 0; n < MOST_STEPS; ++n) {
    float next = 1.f - expf(-(0.4f + 0.3f * burnt) * e / rho);
    float step = next - burnt;
    burnt = next;
    if (fabsf(step) < TOLERANCE) break;
  }
  return {3.f * expf(-2.f / rho) + burnt * rho * e, sqrtf(2.f + burnt * e)};
}

__host__ __device__ inline State liquid(float rho, float e) {
  float t = 0.5f;
  for (int n = 0; n < MOST_STEPS; ++n) {
    float step = (t + 0.5f * logf(1.f + t) - e) / (1.f + 0.5f / (1.f + t));
    t -= step;
    if (fabsf(step) < TOLERANCE * t) break;
  }
  float r2 = rho * rho;
  return {0.3f * (r2 * r2 * r2 * rho - 1.f) + rho * t, sqrtf(2.1f + t)};
}

__host__ __device__ inline State porous_rock(float rho, float e) {
  float distension = 1.5f;
  for (int n = 0; n < MOST_STEPS; ++n) {
    float pressed = rho * e / distension;
    float next = 1.f + 0.5f / (1.f + pressed * pressed);
    float step = next - distension;
    distension = next;
    if (fabsf(step) < TOLERANCE) break;
  }
  return {rho * e / distension, sqrtf(e / distension)};
}

__host__ __device__ inline State state_of(int material, float rho, float e) {
  switch (material) {
    case 0: return gas_with_radiation(rho, e);
    case 1: return einstein_solid(rho, e);
    case 2: return van_der_waals(rho, e);
    case 3: return ionising_plasma(rho, e);
    case 4: return birch_murnaghan(rho, e);
    case 5: return burning_explosive(rho, e);
    case 6: return liquid(rho, e);
    default: return porous_rock(rho, e);
  }
}

__global__ void held_eos_mixed(Cell* cells) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  State state = state_of(cells[i].material, cells[i].density, cells[i].energy);
  cells[i].pressure = state.pressure;
  cells[i].sound_speed = state.sound_speed;
}

static Cell cell(size_t i) {
  unsigned mixed = unsigned(i) * 2654435761u;
  mixed ^= mixed >> 15;
  mixed *= 2246822519u;
  mixed ^= mixed >> 13;
  return {0.6f + float(mixed & 0xff) / 256.f, 1.f + float(mixed >> 8 & 0xff) / 256.f, {0.1f, 0.2f, 0.3f}, int(mixed >> 20 & 7), 0.f, 0.f};
}

int main() {
  auto* cells = device_array<Cell>(CELLS, cell);
  launch_twice([&] { held_eos_mixed<<<CELLS / THREADS, THREADS>>>(cells); });
  bool ok = true;
  for (int i = 54321; i < 54321 + 32; ++i) {
    Cell got = peek(cells, i), was = cell(i);
    State expected = state_of(was.material, was.density, was.energy);
    ok = ok && close_to(got.pressure, expected.pressure) && close_to(got.sound_speed, expected.sound_speed);
  }
  return finish(ok);
}
